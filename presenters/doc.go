// Package presenters holds [View], a result as one viewer may see it, and the
// floor on which the presenters stand: presenters/human, presenters/ai and
// their siblings each turn a View into the form of one consumer (VCP Tool
// Result Protocol 1.0 §4.7, §8, §9).
//
// # What it promises
//
// Only [NewView] can fill a View, so no presenter can be handed a result that
// was not checked for its viewer. The canonical result is never changed: a view
// is a copy of its own, and what a presenter is given by a view is a copy or,
// where that is said, read-only.
//
// A presenter is pure: it takes a View and settings, returns a value, and
// neither reads the clock nor calls the host. One View may be presented by many
// goroutines at once.
package presenters
