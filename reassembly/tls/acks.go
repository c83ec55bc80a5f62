package tls

import "github.com/kdupscan/kdupscan/reassembly"

// maxMarks bounds the records of one direction that wait for their acknowledgement: two of the largest windows (6 MiB) in
// records of full size. Of more, some are acknowledged together.
const maxMarks = 768

// acks translates acknowledgements of ciphertext to plaintext.
type acks struct {
	marks []mark // ascending
	acked reassembly.StreamOffset
}

// mark says that the plaintext before one offset is carried by the ciphertext before another.
type mark struct{ sealed, plain reassembly.StreamOffset }

// add takes note of a record.
func (a *acks) add(sealed, plain reassembly.StreamOffset) {
	if len(a.marks) == maxMarks {
		a.marks[maxMarks-1] = mark{sealed, plain}
		return
	}
	a.marks = append(a.marks, mark{sealed, plain})
}

// reached returns the plaintext offset that is acknowledged, if it is a new one.
func (a *acks) reached() (plain reassembly.StreamOffset, ok bool) {
	n := 0
	for n < len(a.marks) && a.marks[n].sealed <= a.acked {
		plain = a.marks[n].plain
		n++
	}
	if n > 0 {
		a.marks = append(a.marks[:0], a.marks[n:]...)
	}
	return plain, n > 0
}
