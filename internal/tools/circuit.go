package tools

// Circuit remembers, for one session, how equal calls failed (X4).
type Circuit struct{ calls map[string]*circuitEntry }

type circuitEntry struct {
	masked string
	count  int
	calls  []int
	step   int
}
