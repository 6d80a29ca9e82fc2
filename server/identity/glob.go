package identity

// matchGlob reports whether the whole of s matches pattern, in which '*' stands
// for any run of bytes, also none, and everything else for itself. It takes time
// in the product of both lengths at most: after a mismatch only the last star
// can usefully take more.
func matchGlob(pattern, s string) bool {
	p, i := 0, 0
	star, resume := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			resume++
			p, i = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
