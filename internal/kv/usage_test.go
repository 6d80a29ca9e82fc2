package kv

import (
	"errors"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	if _, measured, err := Measure(NewMemory()); measured || err != nil {
		t.Errorf("a store in memory was measured: %v, %v", measured, err)
	}
	db, err := OpenBadger(t.TempDir(), &Options{MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	usage, measured, err := Measure(db)
	if !measured || err != nil || usage.FreeBytes <= 0 || usage.FloorBytes != 1<<20 || usage.Short() {
		t.Errorf("measured %+v, %v, %v", usage, measured, err)
	}
	db.(*badgerDB).space.free = func(string) (int64, error) { return 1<<20 - 1, nil }
	if usage, _, err := Measure(db); err != nil || !usage.Short() {
		t.Errorf("below the floor it is %+v, %v; want it short", usage, err)
	}
	testShortIsWhereRoomRefuses(t, db.(*badgerDB))
	gone := errors.New("gone")
	db.(*badgerDB).space.free = func(string) (int64, error) { return 0, gone }
	if _, _, err := Measure(db); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Measure(db); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store gives %v, want %v", err, ErrClosed)
	}
	if (Usage{FreeBytes: 0, FloorBytes: -1}).Short() {
		t.Error("a store without a floor is short")
	}
}

// testShortIsWhereRoomRefuses: a server said that it was ready, and refused every
// call, on a disk that uploads had filled down to a byte above the floor.
func testShortIsWhereRoomRefuses(t *testing.T, db *badgerDB) {
	t.Helper()
	for _, free := range []int64{db.space.floor, db.space.floor + MaxBatchBytes - 1, db.space.floor + MaxBatchBytes} {
		db.space.free = func(string) (int64, error) { return free, nil }
		db.space.at = time.Time{}
		usage, _, err := Measure(db)
		if room := db.Room(); err != nil || usage.Short() != errors.Is(room, ErrNoSpace) {
			t.Errorf("with %d bytes over the floor short is %v, and room %v (%v)", free-db.space.floor, usage.Short(), room, err)
		}
	}
}
