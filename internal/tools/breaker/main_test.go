package breaker

import (
	"testing"

	"baton/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
