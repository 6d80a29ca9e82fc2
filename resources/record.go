package resources

import (
	"encoding/json"
	"fmt"
	"time"

	"vcphost/abi"
)

const (
	prefixDescriptor = "res/d/"
	prefixContent    = "res/s/"
	prefixPending    = "res/p/"
)

// recordVersion is the format of the rows that this package writes.
const recordVersion = 1

// record is the row of a published resource. The descriptor in it has no URL:
// that depends on the server that reads it.
type record struct {
	Version   int          `json:"v"`
	Owner     abi.Owner    `json:"owner"`
	Blob      string       `json:"blob"`
	CreatedAt time.Time    `json:"createdAt"`
	Resource  abi.Resource `json:"resource"`
}

func descriptorKey(id string) []byte   { return []byte(prefixDescriptor + id) }
func contentPrefix(sha string) []byte  { return []byte(prefixContent + sha + "/") }
func contentKey(sha, id string) []byte { return []byte(prefixContent + sha + "/" + id) }
func pendingKey(blobID string) []byte  { return []byte(prefixPending + blobID) }

func (r *record) encode() ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode descriptor %s: %w", r.Resource.ID, err)
	}
	return raw, nil
}

func decodeRecord(id string, raw []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("decode descriptor %s: %w", id, err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("decode descriptor %s: format version %d is not known, %d was expected", id, r.Version, recordVersion)
	}
	return &r, nil
}
