package main

import (
	"sync"
	"testing"
	"time"
)

// Clients of which each takes longer to connect than the one before.
func TestNoClientBeginsBeforeAllAreReady(t *testing.T) {
	const clients = 3
	of, err := openCounts("", clients, 0)
	if err != nil {
		t.Fatal(err)
	}
	took := of.runFor(0.1)
	var all sync.WaitGroup
	var connected, begun [clients]time.Time
	for number := 0; number < clients; number++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			time.Sleep(time.Duration(number) * 50 * time.Millisecond)
			connected[number] = time.Now()
			of.clear(number)
			of.loop(number, func() (bool, error) {
				if begun[number].IsZero() {
					begun[number] = time.Now()
				}
				time.Sleep(time.Millisecond)
				return true, nil
			})
		}(number)
	}
	all.Wait()
	if took.began.Before(connected[clients-1]) {
		t.Error("the time began before the last client was ready")
	}
	for number := range begun {
		if begun[number].Before(took.began) {
			t.Errorf("client %d began before the time did", number)
		}
	}
	found := of.summary(took)
	if found.Finished == 0 || found.Seconds < 0.1 {
		t.Errorf("%v transactions in %v seconds", found.Finished, found.Seconds)
	}
	if found.Rates == nil {
		t.Error("the rates of less than a second are null in JSON")
	}
}
