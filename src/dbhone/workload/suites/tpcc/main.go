// Clients for TPC-C on go-tpc's own packages, which load, ask and check.
//
// go-tpc's program takes a password as an argument, and reaches MySQL by TCP only. This one reaches
// a server by its socket, without a password. Its clients count what they do, see counts.go.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"unsafe"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
	"github.com/pingcap/go-tpc/pkg/workload"
	"github.com/pingcap/go-tpc/tpcc"
)

// Transactions that a server refuses because of others, which a client may try again.
var refusal = regexp.MustCompile(`Error (1020|1205|1213)\b|deadlock detected|could not serialize`)

var settling = map[string][]string{
	"mysql": {"ANALYZE TABLE " +
		"warehouse, district, customer, history, new_order, orders, order_line, stock, item"},
	"postgres": {"VACUUM ANALYZE", "CHECKPOINT"},
}

// Tables whose numbers of rows no transaction changes.
var constant = []string{"warehouse", "district", "customer", "stock", "item"}

// The consistency conditions of clause 3.3.2 that clause 3.3.3 asks for. go-tpc's own queries for
// all twelve take minutes for each warehouse.
var conditions = []struct{ name, violations string }{
	{"3.3.2.1", `SELECT count(*) FROM warehouse LEFT JOIN
		(SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) districts
		ON d_w_id = w_id WHERE w_ytd <> coalesce(ytd, -1)`},
	{"3.3.2.2", `SELECT count(*) FROM district
		LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) entered
		ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN
		(SELECT no_w_id, no_d_id, max(no_o_id) AS newest FROM new_order GROUP BY no_w_id, no_d_id)
		waiting ON no_w_id = d_w_id AND no_d_id = d_id
		WHERE d_next_o_id - 1 <> coalesce(last, -1) OR last <> coalesce(newest, last)`},
	{"3.3.2.3", `SELECT count(*) FROM (SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id
		HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) gaps`},
	{"3.3.2.4", `SELECT count(*) FROM
		(SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS told FROM orders GROUP BY o_w_id, o_d_id) entered
		LEFT JOIN
		(SELECT ol_w_id, ol_d_id, count(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) counted
		ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE told <> coalesce(found, -1)`},
}

type options struct {
	driver, source string
	config         tpcc.Config
	events         int
	counts         string
	parts          []string
	command        string
}

func main() {
	chosen := parse()
	db, err := sql.Open(chosen.driver, chosen.source)
	if err == nil {
		db.SetMaxIdleConns(chosen.config.Threads + 1)
		err = execute(chosen, db)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tpcc: %v\n", err)
		os.Exit(1)
	}
}

func parse() options {
	var chosen options
	config := &chosen.config
	protocol := flag.String("protocol", "postgresql", "mysql or postgresql")
	socket := flag.String("socket", "", "the server's socket")
	port := flag.Int("port", 5432, "the number in the name of PostgreSQL's socket")
	user := flag.String("user", "", "the server's user, without a password")
	database := flag.String("database", "", "the database")
	weights := flag.String("weights", "45,43,4,4,4", "of the five transactions, 100 together")
	parts := flag.String("parts", "", "which transactions are counted one by one")
	flag.IntVar(&config.Warehouses, "warehouses", 1, "how many")
	flag.IntVar(&config.Threads, "threads", 1, "how many clients")
	flag.IntVar(&chosen.events, "events", 0, "how many transactions each client runs")
	flag.StringVar(&chosen.counts, "counts", "", "the file of counts, which says when to end")
	flag.Parse()
	chosen.command = flag.Arg(0)
	chosen.parts = strings.FieldsFunc(*parts, func(at rune) bool { return at == ',' })
	for _, word := range strings.Split(*weights, ",") {
		var weight int
		fmt.Sscan(word, &weight)
		config.Weight = append(config.Weight, weight)
	}
	config.DBName, config.Parts, config.PartitionType = *database, 1, tpcc.PartitionTypeHash
	chosen.driver = "mysql"
	chosen.source = fmt.Sprintf("%s@unix(%s)/%s", *user, *socket, *database)
	if *protocol == "postgresql" {
		chosen.driver = "postgres"
		chosen.source = fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable",
			filepath.Dir(*socket), *port, *user, *database)
	}
	config.Driver = chosen.driver
	return chosen
}

func execute(chosen options, db *sql.DB) error {
	switch chosen.command {
	case "load":
		return load(chosen, db)
	case "settle":
		for _, statement := range settling[chosen.driver] {
			if _, err := db.Exec(statement); err != nil {
				return err
			}
		}
		fmt.Println("settled")
		return nil
	case "verify":
		return verify(chosen, db)
	case "run":
		return run(chosen, db)
	}
	return fmt.Errorf("there is no command %q", chosen.command)
}

func load(chosen options, db *sql.DB) error {
	return silently(func() error {
		return allClients(chosen, db, func(of *client) error {
			return of.workload.Prepare(of.context, of.number)
		})
	})
}

// Run transactions, check what the specification calls consistency, and print what two correct
// servers have in common after random transactions.
func verify(chosen options, db *sql.DB) error {
	err := allClients(chosen, db, func(of *client) error {
		for event := 0; event < chosen.events; event++ {
			if err := of.workload.Run(of.context, of.number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range constant {
		var rows int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil {
			return err
		}
		fmt.Printf("answer %s %d rows\n", table, rows)
	}
	for _, condition := range conditions {
		var violations int
		if err := db.QueryRow(condition.violations).Scan(&violations); err != nil {
			return err
		}
		if violations > 0 {
			fmt.Printf("damage %s, %d times\n", condition.name, violations)
			return nil
		}
		fmt.Printf("sound %s\n", condition.name)
	}
	fmt.Println("verified")
	return nil
}

// Run transactions and count them in a file that another process reads, and that says when to end.
func run(chosen options, db *sql.DB) error {
	counts, err := openCounts(chosen.counts, chosen.config.Threads, len(chosen.parts))
	if err != nil {
		return err
	}
	return allClients(chosen, db, func(of *client) error {
		of.countParts(counts, chosen.parts)
		// The first transaction has all statements prepared.
		if err := of.workload.Run(of.context, of.number); err != nil && !refused(err) {
			return err
		}
		counts.clear(of.number)
		return counts.loop(of.number, func() (bool, error) {
			err := of.workload.Run(of.context, of.number)
			if err != nil && refused(err) {
				return false, nil
			}
			return true, err
		})
	})
}

func refused(err error) bool {
	return refusal.MatchString(err.Error())
}

type client struct {
	number   int
	workload workload.Workloader
	context  context.Context
}

// Do something with so many clients at once, each with a connection of its own; return the first
// error, without waiting for the others.
func allClients(chosen options, db *sql.DB, do func(*client) error) error {
	// One that all share, as to load needs: who loads waits for the tables that the first makes.
	shared, err := tpcc.NewWorkloader(db, &chosen.config)
	if err != nil {
		return err
	}
	ended := make(chan error)
	var all sync.WaitGroup
	for number := 0; number < chosen.config.Threads; number++ {
		own := &client{number: number, workload: shared}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() {
				if raised := recover(); raised != nil {
					ended <- fmt.Errorf("%v", raised)
				}
			}()
			if chosen.command == "run" {
				own.workload, _ = tpcc.NewWorkloader(db, &chosen.config)
			}
			own.context = own.workload.InitThread(context.Background(), own.number)
			defer own.workload.CleanupThread(own.context, own.number)
			if err := do(own); err != nil {
				ended <- err
			}
		}()
	}
	go func() {
		all.Wait()
		ended <- nil
	}()
	return <-ended
}

// Count the transactions of these names one by one. Which one go-tpc has chosen it tells nobody, so
// each of its five functions is replaced by one that calls it and counts.
func (of *client) countParts(counts *counts, names []string) {
	chosen := reflect.ValueOf(of.workload).Elem().FieldByName("txns")
	for at := 0; at < chosen.Len(); at++ {
		name := strings.ReplaceAll(chosen.Index(at).FieldByName("name").String(), "_", "-")
		field := chosen.Index(at).FieldByName("action")
		action := (*func(context.Context, int) error)(unsafe.Pointer(field.UnsafeAddr()))
		for number, part := range names {
			if part == name {
				*action = counts.counted(*action, number)
			}
		}
	}
}

// Do something whose messages nobody reads.
func silently(do func() error) error {
	printed := os.Stdout
	defer func() { os.Stdout = printed }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	os.Stdout = null
	return do()
}
