package config

import (
	"fmt"
	"strings"
)

// maxSuggestBytes bounds the texts that are compared.
const maxSuggestBytes = 64

// suggest names the known text that is nearest to the given one, as the end of a
// message; "" where none is near.
func suggest(text string, known []string) string {
	if len(text) > maxSuggestBytes {
		return ""
	}
	best, least := "", len(text)/3+2
	for _, k := range known {
		if d := editDistance(strings.ToLower(text), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance is the number of bytes to insert, remove or replace between a
// and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
