package kv

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpaceReadsSeldomAndRefusesInTime drives the floor with a disk of its own.
func TestSpaceReadsSeldomAndRefusesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		disk, readings := int64(100*mib), 0
		s := newSpace("dir", &Options{MinFreeBytes: 50 * mib, FreeBytes: func(string) (int64, error) { readings++; return disk, nil }})
		write := func(size int64, deletes bool, want error, wantReadings int) {
			t.Helper()
			err := s.reserve(size, deletes)
			if !errors.Is(err, want) || (err == nil) != (want == nil) || readings != wantReadings {
				t.Errorf("reserve(%d) = %v after %d readings; want %v after %d", size, err, readings, want, wantReadings)
			}
			if err == nil {
				disk -= size
			}
		}
		write(mib, false, nil, 1)
		for range 15 {
			write(mib, false, nil, 1)
		}
		write(mib, false, nil, 2) // more than 16 MiB since the last reading
		time.Sleep(spaceReadingAge)
		write(mib, false, nil, 3)
		disk = 51 * mib // another process fills the disk
		time.Sleep(spaceReadingAge)
		write(2*mib, false, ErrNoSpace, 4)
		write(mib, false, nil, 4)
		write(1, false, ErrNoSpace, 4)
		write(1, true, nil, 4)
		disk = 20 * mib
		time.Sleep(spaceReadingAge)
		write(1, true, ErrNoSpace, 5)
		disk = 100 * mib
		time.Sleep(spaceReadingAge)
		write(30*mib, false, nil, 6)
	})
}

func TestSpaceOfARealDirectory(t *testing.T) {
	free, err := freeBytes(t.TempDir())
	if err != nil || free <= 0 {
		t.Errorf("freeBytes = %d, %v", free, err)
	}
	if _, err := freeBytes(t.TempDir() + "/nowhere"); err == nil {
		t.Error("freeBytes of nothing = nil, want an error")
	}
}
