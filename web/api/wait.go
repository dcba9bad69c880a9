package api

import (
	"time"

	"baton/internal/escalation"
)

// A waiting request looks at the row's version so often, and for so long at
// most: proxies and clients give up on a request after a minute.
const (
	lookEvery = 500 * time.Millisecond
	maxWait   = 50 * time.Second
)

// waitForChange waits until the question is at another version than e. It says
// whether it is; not, if the time is over or the server stops. It ends with the
// request.
func (a *API) waitForChange(q Request, e escalation.Escalation, wait time.Duration) (bool, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-q.Context().Done():
			return false, q.Context().Err()
		case <-over.C:
			return false, nil
		case <-a.Stopping:
			return false, nil
		case <-look.C:
		}
		version, err := a.Escalations.Version(q.Context(), q.Actor, e.ID)
		if err != nil || version != e.Version {
			return true, err
		}
	}
}
