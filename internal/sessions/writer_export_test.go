package sessions

import "time"

// HoldWriters takes every place of the store's writer and makes those who then
// stand in line patient. One of them gets all the places back.
func (s *Store) HoldWriters() (release func()) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.patience = time.Hour
	for s.writer.taken < writersAtOnce {
		s.writer.taken++
	}
	return func() {
		s.writer.mu.Lock()
		s.writer.taken = 1
		s.writer.mu.Unlock()
		s.writer.giveUp()
	}
}

// Writing says how many places of the writer are taken, and how many stand in
// line.
func (s *Store) Writing() (taken, inLine int) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.taken, len(s.writer.line)
}

// SetPatience is how long a step stands in line.
func (s *Store) SetPatience(d time.Duration) { s.writer.patience = d }
