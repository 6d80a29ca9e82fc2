package snapshot

import "testing"

// life plays calls against a keeper: each writes to some pages, of which some
// change. It counts what a mapping would pay, in copied pages.
type life struct {
	keeper
	held                  map[int]bool
	copies, faults, drops int
}

func (l *life) call(pages []int, same int) {
	for _, page := range pages {
		if !l.held[page] {
			l.faults++
			l.held[page] = true
		}
	}
	if l.discards {
		l.gaveBack(len(l.held))
		l.drops++
		clear(l.held)
		return
	}
	compared := l.compares()
	l.copies += len(l.held)
	l.kept(len(l.held), len(pages)-same, compared)
}

func newLife() *life {
	return &life{keeper: keeper{limit: 1 << 20}, held: make(map[int]bool)}
}

func numbers(from, count int) (list []int) {
	for i := range count {
		list = append(list, from+i)
	}
	return list
}

func TestKeeperLetsGoOfALargeCall(t *testing.T) {
	l := newLife()
	for range 20 {
		l.call(numbers(0, 3), 0)
	}
	l.call(numbers(0, 4000), 0)
	for range 5 {
		l.call(numbers(0, 3), 0)
	}
	if len(l.held) != 3 || l.drops != 1 {
		t.Errorf("%d pages are held after %d discards", len(l.held), l.drops)
	}
}

func TestKeeperKeepsWhatEveryCallNeeds(t *testing.T) {
	for _, pages := range []int{1, 3, 29, 1000} {
		l := newLife()
		for range 10_000 {
			l.call(numbers(0, pages), 0)
		}
		if l.drops != 0 || l.faults != pages {
			t.Errorf("%d pages: %d faults, %d discards", pages, l.faults, l.drops)
		}
	}
}

// Pages that calls write to without changing them look unneeded until a discard
// shows that they fault again: then discards must become rare.
func TestKeeperLearnsThatADiscardWasWorthNothing(t *testing.T) {
	l := newLife()
	for range 10_000 {
		l.call(numbers(0, 30), 25)
	}
	if l.drops > 100 {
		t.Errorf("%d discards in 10,000 calls", l.drops)
	}
}

// Calls that each write to other pages are served best by letting go now and then.
func TestKeeperBoundsWhatWandersAbout(t *testing.T) {
	l := newLife()
	worst := 0
	for call := range 10_000 {
		l.call(numbers(call*3%30_000, 3), 0)
		worst = max(worst, len(l.held))
	}
	if worst > 200 || l.copies > 10_000*100 {
		t.Errorf("up to %d pages held, %d copied", worst, l.copies)
	}
}
