// Package align puts two lists beside each other so that what is the same stands in one row.
package align

// maxCells bounds how much work is put into two lists.
const maxCells = 1 << 22

// None is the index in a row that one of the lists has nothing for.
const None = -1

// Rows returns rows of indices of a and b, in the order of both. The elements of a row are
// the same, or it has one of them and None. As many as possible stand beside each other; of
// lists too long for that, only what they begin and end with.
func Rows(a, b []string) [][2]int {
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var rows [][2]int
	for i := range head {
		rows = append(rows, [2]int{i, i})
	}
	for _, r := range between(a[head:len(a)-tail], b[head:len(b)-tail]) {
		for side, i := range r {
			if i != None {
				r[side] = i + head
			}
		}
		rows = append(rows, r)
	}
	for i := tail; i > 0; i-- {
		rows = append(rows, [2]int{len(a) - i, len(b) - i})
	}
	return rows
}

// between returns the rows of two lists that begin and end differently.
func between(a, b []string) [][2]int {
	var length [][]int
	if len(a)*len(b) <= maxCells {
		length = common(a, b)
	}
	var rows [][2]int
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case length != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			rows = append(rows, [2]int{i, j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && (length == nil || length[i+1][j] >= length[i][j+1]):
			rows = append(rows, [2]int{i, None})
			i++
		default:
			rows = append(rows, [2]int{None, j})
			j++
		}
	}
	return rows
}

// common returns the length of the longest common part of every two ends.
func common(a, b []string) [][]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
}
