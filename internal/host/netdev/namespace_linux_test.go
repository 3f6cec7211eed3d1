package netdev

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestANamespaceIsNotEnteredByTheMainThread(t *testing.T) {
	ns, err := Here()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	const goroutines = 64 // each on its own thread, so that the runtime needs all its threads
	var here, over sync.WaitGroup
	here.Add(goroutines)
	over.Add(goroutines)
	for range goroutines {
		ns.Go(func(err error) {
			defer over.Done()
			if err != nil {
				t.Error(err)
			}
			if unix.Gettid() == unix.Getpid() {
				t.Error("a goroutine has the main thread")
			}
			here.Done()
			here.Wait()
		})
	}
	over.Wait()
}
