package embedded

import (
	"syscall"
	"testing"
)

// R: G2
func TestADirectoryIsFreeAtOnceWhateverChildStillHoldsItsLockFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := own(dir)
	if err != nil {
		t.Fatal(err)
	}
	held, err := syscall.Dup(int(first.lock.Fd())) // as a child has it until it is another program
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(held) }()
	first.release()
	second, err := own(dir)
	if err != nil {
		t.Fatalf("a released directory: %v", err)
	}
	second.release()
}

// R: G2
func TestAskingForTheOwnerKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Owner(dir)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	for range 200 {
		o, err := own(dir)
		if err != nil {
			t.Fatalf("own a free directory: %v", err)
		}
		o.release()
	}
}
