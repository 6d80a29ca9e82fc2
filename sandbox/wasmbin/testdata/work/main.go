//go:build wasip1

// A guest that does the work of a usual plugin many times: JSON, sorting, maps,
// hashing and formatted text. The benchmarks of fuel run it.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

type record struct {
	Name  string         `json:"name"`
	Value float64        `json:"value"`
	Tags  []string       `json:"tags"`
	Extra map[string]any `json:"extra"`
}

//go:wasmexport work
func work(rounds int32) int32 {
	sum := int32(0)
	for i := range rounds {
		records := make([]record, 50)
		for j := range records {
			records[j] = record{
				Name: fmt.Sprintf("record %d of %d", (j*7919+int(i))%50, i), Value: float64(j) / 7,
				Tags: strings.Fields("some tags of a record"), Extra: map[string]any{"j": j, "x": true},
			}
		}
		sort.Slice(records, func(a, b int) bool { return records[a].Name < records[b].Name })
		text, err := json.Marshal(records)
		if err != nil {
			return -1
		}
		var back []record
		if err := json.Unmarshal(text, &back); err != nil {
			return -2
		}
		digest := sha256.Sum256(text)
		sum += int32(digest[0]) + int32(len(back))
	}
	return sum
}

func main() {}
