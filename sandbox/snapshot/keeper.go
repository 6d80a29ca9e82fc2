package snapshot

// The prices of the two ways, in copied pages: what a page fault costs, and what
// one madvise costs before the first fault. Where they were measured, in a
// virtual machine, a copied page is 0.1 to 0.3 µs (in or out of the caches), a
// page that is written to 1.2 µs and one that is read first 3.3 µs, the call 4.
const (
	faultPrice   = 16
	discardPrice = 32
)

// lookEvery is how often a Restore compares before it copies, to learn how much
// of what it copies was needed.
const lookEvery = 8

// maxPatience bounds how much rarer useless discards become: 2^6 times.
const maxPatience = 6

// keeper decides how long a mapping keeps its written pages. Their set only
// grows, so that one large call would make all the later ones pay for its pages;
// but a discarded page that the next call writes to is a fault, dearer than many
// copies. It adds up what was copied for nothing, and when that has cost as much
// as beginning anew would, the next Restore begins anew: so the sum is never more
// than twice that of the best choice made in hindsight.
type keeper struct {
	limit int // pages that may be kept

	pages    int  // held after the last Restore
	needed   int  // how many of them a call is known to write to
	debt     int  // pages copied for nothing since the last discard
	turn     int  // Restores since the last comparison
	grew     bool // the set grew at the last Restore
	discards bool // the next Restore gives everything back
	dropped  int  // pages given back by the last discard, 0 once its worth is known
	patience uint // doublings of the price after discards that were worth nothing
}

// compares says whether the coming Restore is to count the pages that changed.
func (k *keeper) compares() bool { return k.grew || k.turn >= lookEvery-1 }

// kept takes note of a Restore that put pages back, changed of which were found
// different; changed is meaningless where it did not compare.
func (k *keeper) kept(pages, changed int, compared bool) {
	k.turn++
	switch {
	case compared:
		k.needed, k.turn = changed, 0
	case k.pages == 0: // all of them faulted in this call
		k.needed = pages
	}
	if k.dropped > 0 {
		k.judge(pages)
	}
	k.grew = pages > k.pages
	k.pages = pages
	k.debt += max(0, pages-k.needed)
	k.discards = k.debt > (discardPrice+faultPrice*k.needed)<<k.patience
}

// judge looks at the first call after a discard: where it wrote to most of the
// pages again, though perhaps with the same bytes, the discard was a waste.
func (k *keeper) judge(pages int) {
	if 4*pages >= 3*k.dropped {
		k.patience = min(k.patience+1, maxPatience)
	} else {
		k.patience = 0
	}
	k.dropped = 0
}

// gaveBack takes note of a discard of so many pages, as far as is known.
func (k *keeper) gaveBack(pages int) {
	k.pages, k.debt, k.turn = 0, 0, 0
	k.grew, k.discards = false, false
	k.dropped = max(pages, 1)
}
