package main

import (
	"context"
	"math"
	"os"
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

// Return the counts in the file at the path.
func openCounts(path string, clients, parts int) (*counts, error) {
	slots := int(unsafe.Sizeof(head{}))
	rest := slots + clients*int(unsafe.Sizeof(slot{}))
	length := rest + clients*parts*int(unsafe.Sizeof(part{}))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	access := syscall.PROT_READ | syscall.PROT_WRITE
	memory, err := syscall.Mmap(int(file.Fd()), 0, length, access, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	made := &counts{head: (*head)(unsafe.Pointer(&memory[0])), each: parts}
	made.slots = unsafe.Slice((*slot)(unsafe.Pointer(&memory[slots])), clients)
	if parts > 0 {
		made.parts = unsafe.Slice((*part)(unsafe.Pointer(&memory[rest])), clients*parts)
	}
	return made, nil
}

// Forget what a client has counted, and tell that it is ready.
func (of *counts) clear(number int) {
	for at := number * of.each; at < (number+1)*of.each; at++ {
		of.parts[at] = part{}
	}
	of.slots[number].ready.set(1)
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
