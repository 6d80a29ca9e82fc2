package resources

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// Publish makes all finished outputs readable in one atomic batch and ends the
// session; what was not closed is deleted. On an *abi.Error nothing became
// readable, and [Session.Discard] deletes what is left.
func (c *Session) Publish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return storeError("publish resources", err)
	}
	c.ending.Lock()
	defer c.ending.Unlock()
	if !c.end("publish resources") {
		return overError("publish resources")
	}
	if hit := c.LimitHit(); hit != nil {
		return hit
	}
	if len(c.finished) == 0 {
		return nil
	}
	unlock := c.store.content.lock(c.finished)
	defer unlock()
	batch, duplicates, err := c.publication()
	if err != nil {
		return storeError("publish resources", err)
	}
	if err := c.store.db.Apply(batch); err != nil {
		return storeError("publish resources", err)
	}
	c.mu.Lock()
	c.finished = nil
	c.mu.Unlock()
	// Duplicates go after the batch, which so stays small however long they
	// are; their res/p rows are there until then.
	for _, blobID := range duplicates {
		c.store.deleteLogged(blobID)
	}
	return nil
}

// publication builds the batch that publishes, and names the blobs whose
// content is already stored. Nothing changes the finished outputs any more.
func (c *Session) publication() (batch *kv.Batch, duplicates []string, err error) {
	batch = new(kv.Batch)
	here := map[string]string{} // sha256 → blob, of this batch
	for _, out := range c.finished {
		sha := out.facts.sha256
		blobID := here[sha]
		if blobID == "" {
			if blobID, err = c.store.findContent(sha); err != nil {
				return nil, nil, err
			}
		}
		if blobID == "" {
			blobID = out.blobID
			batch.Delete(pendingKey(blobID))
		} else {
			duplicates = append(duplicates, out.blobID)
		}
		here[sha] = blobID
		if err := c.addRecord(batch, out, blobID); err != nil {
			return nil, nil, err
		}
	}
	return batch, duplicates, nil
}

func (c *Session) addRecord(batch *kv.Batch, out *output, blobID string) error {
	resource, _ := describe(out.id, out.draft, c.source, out.facts)
	r := record{Version: recordVersion, Owner: c.owner, Blob: blobID, CreatedAt: c.store.now().UTC(), Resource: resource}
	raw, err := r.encode()
	if err != nil {
		return err
	}
	batch.Set(descriptorKey(out.id), raw)
	batch.Set(contentKey(out.facts.sha256, out.id), []byte(blobID))
	return nil
}

// findContent gives the blob that holds content already published, "" if none
// does.
func (s *Store) findContent(sha string) (string, error) {
	var blobID string
	err := s.db.Scan(contentPrefix(sha), func(_, value []byte) bool {
		blobID = string(value)
		return false
	})
	return blobID, err
}

// Discard ends the session and deletes everything of it that was not published.
// It may be called at any time and any number of times; a sink that is still
// being written fails from then on. What could not be deleted now is deleted by
// the next [Open].
func (c *Session) Discard() error {
	c.ending.Lock()
	defer c.ending.Unlock()
	c.end("discard resources")
	c.mu.Lock()
	rest := c.finished
	c.finished = nil
	c.mu.Unlock()
	var first error
	for _, out := range rest {
		if err := c.store.deletePending(out.blobID); err != nil && first == nil {
			first = storeError("discard resources", err)
		}
	}
	return first
}

// end makes the session over and aborts what is still open; false if it was
// over before. After it the set of finished outputs grows no more.
func (c *Session) end(what string) bool {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return false
	}
	c.over = true
	open := make([]*sink, 0, len(c.outputs))
	for _, out := range c.outputs {
		open = append(open, out.sink)
	}
	c.mu.Unlock()
	for _, s := range open {
		s.abort(overError(what))
	}
	return true
}

func (s *Store) deleteLogged(blobID string) {
	if err := s.deletePending(blobID); err != nil {
		s.log.Warn("delete blob", "blob", blobID, "error", err)
	}
}

// contentLocks let one publication at a time decide where the bytes of a hash
// live. Publications of other content go on side by side.
type contentLocks [256]sync.Mutex

// lock takes the locks of all outputs' content, in ascending order, so that no
// two publications wait for each other.
func (l *contentLocks) lock(outputs []*output) (unlock func()) {
	var wanted []int
	for _, out := range outputs {
		wanted = append(wanted, l.index(out.facts.sha256))
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	for _, i := range wanted {
		l[i].Lock()
	}
	return func() {
		for _, i := range wanted {
			l[i].Unlock()
		}
	}
}

// index is the first byte of a hash.
func (l *contentLocks) index(sha string) int {
	first, _ := hex.DecodeString(sha[:2])
	return int(first[0])
}

var _ abi.ResourceSink = (*sink)(nil)
