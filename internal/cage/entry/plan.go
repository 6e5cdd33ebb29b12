// Package entry is how a process gets into a cage: it takes a Plan, puts the cage on
// itself and becomes another program.
//
// The program starts itself for that, as "raymond cage --plan=3 -- NAME ARGS", with a
// socket as descriptor 3 that the plan comes from. An init function sees to it before
// the rest of the program is set up, which would take longer than all that is done
// here.
package entry

import (
	"encoding/binary"
	"errors"
	"math"
)

// Plan says what a process puts on before it becomes another program.
type Plan struct {
	Path string // of the program
	// Mark is a number that everything in the cage carries, as limits of a resource
	// that nobody uses (RLIMIT_RTTIME), and that can't be taken off. 0 is none.
	Mark uint64
	// FS, Net and Scoped are what Landlock handles, as sets of its rights, which are
	// refused but where Rules and Ports allow them. All zero: no Landlock.
	FS, Net, Scoped uint64
	Rules           []Rule
	Ports           []uint16 // that TCP may connect to, if Net has that right
	// IsTrusted says that the process keeps what privileges it has, as far as Landlock lets it.
	IsTrusted bool
	// Filter is a program of seccomp; Alone is another one that needs nobody who
	// decides, for when a cage is inside another one that has somebody. nil: none.
	Filter, Alone []Instruction
}

// Rule is one rule of Landlock. A path that doesn't exist, or is a link, gets none.
type Rule struct {
	Path   string
	Access uint64
}

// Instruction is one of seccomp's, in the form in which the kernel takes it.
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

var errPlan = errors.New("the plan of the cage can't be read")

// Encode returns the plan as bytes.
func (p *Plan) Encode() []byte {
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	text(p.Path)
	trusted := uint64(0)
	if p.IsTrusted {
		trusted = 1
	}
	for _, n := range [...]uint64{p.Mark, p.FS, p.Net, p.Scoped, trusted, uint64(len(p.Rules))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, r := range p.Rules {
		text(r.Path)
		b = binary.AppendUvarint(b, r.Access)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Ports)))
	for _, port := range p.Ports {
		b = binary.AppendUvarint(b, uint64(port))
	}
	for _, filter := range [...][]Instruction{p.Filter, p.Alone} {
		b = binary.AppendUvarint(b, uint64(len(filter)))
		for _, in := range filter {
			b = append(binary.LittleEndian.AppendUint16(b, in.Code), in.Jt, in.Jf)
			b = binary.LittleEndian.AppendUint32(b, in.K)
		}
	}
	return b
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Plan, error) {
	d := decoder{rest: b}
	p := &Plan{Path: d.text(), Mark: d.number(), FS: d.number(), Net: d.number(), Scoped: d.number(), IsTrusted: d.number() == 1}
	for range d.count() {
		p.Rules = append(p.Rules, Rule{Path: d.text(), Access: d.number()})
	}
	for range d.count() {
		p.Ports = append(p.Ports, uint16(d.number())) //nolint:gosec // Encode wrote 16 bits
	}
	p.Filter, p.Alone = d.filter(), d.filter()
	if d.failed || len(d.rest) > 0 {
		return nil, errPlan
	}
	return p, nil
}

// decoder takes values off the front of bytes. After a failure all are zero.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.rest, d.failed = nil, true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count is a number of things that follow, of which each has at least one byte.
func (d *decoder) count() int {
	n := d.number()
	if n > math.MaxInt32 || int(n) > len(d.rest) {
		d.rest, d.failed = nil, true
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.rest, d.failed = nil, true
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.count())) }

func (d *decoder) filter() []Instruction {
	var out []Instruction
	for range d.count() {
		b := d.bytes(8)
		out = append(out, Instruction{
			Code: binary.LittleEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.LittleEndian.Uint32(b[4:]),
		})
	}
	return out
}
