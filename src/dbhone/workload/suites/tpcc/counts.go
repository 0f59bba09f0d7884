package main

import (
	"context"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Counts in a file that another process reads while clients run, laid out by workload/counting.py:
// a head, a slot for each client, the parts of each client. That process stops this one between two
// slices, and writes another generation before the next: a transaction that began in one and ended
// in another was stopped on its way, and is not counted.

const (
	buckets  = 1024
	shortest = 1e-6
	decades  = 8
)

// A double that two processes read and write.
type figure struct{ bits uint64 }

func (of *figure) value() float64 {
	return math.Float64frombits(atomic.LoadUint64(&of.bits))
}

func (of *figure) set(value float64) {
	atomic.StoreUint64(&of.bits, math.Float64bits(value))
}

func (of *figure) add(value float64) {
	of.set(of.value() + value)
}

type head struct {
	generation, ending figure
	_                  [48]byte
}

type slot struct {
	ready, finished, refused, open figure
	_                              [32]byte
	buckets                        [buckets]uint32
}

type part struct {
	finished, seconds, failed figure
}

type counts struct {
	head  *head
	slots []slot
	parts []part
	each  int
}

// Return the counts in the file at the path, or in memory where it is empty.
func openCounts(path string, clients, parts int) (*counts, error) {
	slots := int(unsafe.Sizeof(head{}))
	rest := slots + clients*int(unsafe.Sizeof(slot{}))
	length := rest + clients*parts*int(unsafe.Sizeof(part{}))
	memory := make([]byte, length)
	if path != "" {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		access := syscall.PROT_READ | syscall.PROT_WRITE
		memory, err = syscall.Mmap(int(file.Fd()), 0, length, access, syscall.MAP_SHARED)
		if err != nil {
			return nil, err
		}
	}
	made := &counts{head: (*head)(unsafe.Pointer(&memory[0])), each: parts}
	made.slots = unsafe.Slice((*slot)(unsafe.Pointer(&memory[slots])), clients)
	if parts > 0 {
		made.parts = unsafe.Slice((*part)(unsafe.Pointer(&memory[rest])), clients*parts)
	}
	return made, nil
}

func (of *counts) begin() { of.head.generation.add(1) }

func (of *counts) end() { of.head.ending.set(1) }

func (of *counts) finished() (sum float64) {
	for at := range of.slots {
		sum += of.slots[at].finished.value()
	}
	return sum
}

// Forget what a client has counted, and tell that it is ready.
func (of *counts) clear(number int) {
	for at := number * of.each; at < (number+1)*of.each; at++ {
		of.parts[at] = part{}
	}
	of.slots[number].ready.set(1)
}

func (of *counts) ready() bool {
	for at := range of.slots {
		if of.slots[at].ready.value() == 0 {
			return false
		}
	}
	return true
}

// When the clients began, and how many transactions they finished in each second.
type course struct {
	began   time.Time
	rates   []float64
	writing sync.Mutex
}

func (of *course) add(rate float64) {
	of.writing.Lock()
	defer of.writing.Unlock()
	of.rates = append(of.rates, rate)
}

// Return a list, which is empty in the first second: nil would become null in JSON.
func (of *course) soFar() []float64 {
	of.writing.Lock()
	defer of.writing.Unlock()
	return append([]float64{}, of.rates...)
}

// Let the clients begin together once all are ready, and end so many seconds later: to connect and
// to prepare statements is no part of these.
func (of *counts) runFor(seconds float64) *course {
	made := &course{}
	go func() {
		for !of.ready() {
			time.Sleep(time.Millisecond)
		}
		made.began = time.Now()
		time.AfterFunc(time.Duration(seconds*float64(time.Second)), of.end)
		of.begin()
		for before := 0.0; ; before = of.finished() {
			time.Sleep(time.Second)
			made.add(of.finished() - before)
		}
	}()
	return made
}

// Let a client do its work again and again until the end. What returns false was refused.
func (of *counts) loop(number int, work func() (bool, error)) error {
	own := &of.slots[number]
	for {
		for of.head.generation.value() == 0 && of.head.ending.value() == 0 {
			time.Sleep(time.Millisecond)
		}
		if of.head.ending.value() != 0 {
			return nil
		}
		own.open.set(1)
		generation, began := of.head.generation.value(), time.Now()
		done, err := work()
		took := time.Since(began).Seconds()
		if err != nil {
			return err
		}
		if !done {
			own.refused.add(1)
		} else if of.head.generation.value() == generation {
			atomic.AddUint32(&own.buckets[bucket(took)], 1)
			own.finished.add(1)
		}
		own.open.set(0)
	}
}

// Return the action as it is counted, as the part of this number.
func (of *counts) counted(
	action func(context.Context, int) error, number int,
) func(context.Context, int) error {
	return func(ctx context.Context, client int) error {
		own := &of.parts[client*of.each+number]
		generation, began := of.head.generation.value(), time.Now()
		err := action(ctx, client)
		if err != nil {
			own.failed.add(1)
		} else if of.head.generation.value() == generation {
			own.finished.add(1)
			own.seconds.add(time.Since(began).Seconds())
		}
		return err
	}
}

func bucket(seconds float64) int {
	perLog := buckets / (decades * math.Ln10)
	at := int(math.Log(math.Max(seconds, shortest)/shortest) * perLog)
	if at >= buckets {
		return buckets - 1
	}
	return at
}

type summary struct {
	Seconds  float64      `json:"seconds"`
	Finished float64      `json:"finished"`
	Refused  float64      `json:"refused"`
	Buckets  []uint32     `json:"buckets"`
	Parts    [][3]float64 `json:"parts"`
	Rates    []float64    `json:"rates"`
}

// Return what all clients together have counted, when they have ended.
func (of *counts) summary(took *course) summary {
	seconds := time.Since(took.began).Seconds()
	all := summary{Seconds: seconds, Finished: of.finished(), Rates: took.soFar()}
	all.Buckets = make([]uint32, buckets)
	all.Parts = make([][3]float64, of.each)
	for client := range of.slots {
		all.Refused += of.slots[client].refused.value()
		for at, count := range of.slots[client].buckets {
			all.Buckets[at] += count
		}
		for number := range all.Parts {
			own := &of.parts[client*of.each+number]
			all.Parts[number][0] += own.finished.value()
			all.Parts[number][1] += own.seconds.value()
			all.Parts[number][2] += own.failed.value()
		}
	}
	return all
}
