// Package edit measures how far one short text is from another, so that a
// message can name what was probably meant.
package edit

// Distance is the number of bytes to insert, remove or replace to get from a to
// b (Levenshtein). Its time grows with len(a)·len(b): callers bound both.
func Distance(a, b string) int {
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
