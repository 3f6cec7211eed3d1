//go:build linux && (amd64 || arm64)

package keeper

// These functions replace functions of packages bytes, strings and strconv, which are initialized
// after the keeper's init function.

// decimal returns n, which must not be negative, as text.
func decimal(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = '0' + byte(n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// parse is the inverse of decimal, for process and descriptor numbers.
func parse(s string) (n int, ok bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// after returns the part of s after the last c, or all of s if it has no c.
func after(s string, c byte) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == c {
			return s[i+1:]
		}
	}
	return s
}

// fields splits s at spaces and newlines.
func fields(s string) (out []string) {
	start := -1
	for i := range len(s) + 1 {
		switch blank := i == len(s) || s[i] == ' ' || s[i] == '\n'; {
		case blank && start >= 0:
			out = append(out, s[start:i])
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return out
}
