package id_test

import (
	"testing"
	"time"

	"baton/internal/id"
)

func TestFromStandsBetweenWhatWasMadeBeforeAndAfter(t *testing.T) {
	t.Parallel()
	made := id.New[id.Session]()
	before, after := id.From[id.Session](time.Now().Add(-time.Minute)), id.From[id.Session](time.Now().Add(time.Minute))
	if !(before.String() < made.String() && made.String() < after.String()) {
		t.Errorf("%s, %s, %s are not in order", before, made, after)
	}
	if again, err := id.Parse[id.Session](before.String()); err != nil || again != before {
		t.Errorf("%s is read as %s, %v", before, again, err)
	}
}
