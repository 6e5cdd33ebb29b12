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
	"io"
	"strings"
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

// head is what comes first of a plan that is sent: its numbers, and of how many parts what follows has.
type head struct {
	Mark, FS, Net, Scoped                uint64
	IsTrusted                            bool
	Rules, Ports, Filter, Alone, Letters uint32
}

// WritePlan sends a plan to the process that is to take it.
func WritePlan(w io.Writer, p *Plan) error {
	paths, access := []string{p.Path}, make([]uint64, len(p.Rules))
	for i, r := range p.Rules {
		paths, access[i] = append(paths, r.Path), r.Access
	}
	text := []byte(strings.Join(paths, "\x00"))
	n := func(length int) uint32 { return uint32(length) } //nolint:gosec // all are far smaller
	var b []byte
	for _, part := range []any{
		head{p.Mark, p.FS, p.Net, p.Scoped, p.IsTrusted, n(len(access)), n(len(p.Ports)), n(len(p.Filter)), n(len(p.Alone)), n(len(text))},
		access, p.Ports, p.Filter, p.Alone, text,
	} {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	_, err := w.Write(b)
	return err
}

// readPlan reads what WritePlan has sent.
func readPlan(r io.Reader) (*Plan, error) {
	var h head
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil {
		return nil, err
	}
	p := &Plan{
		Mark: h.Mark, FS: h.FS, Net: h.Net, Scoped: h.Scoped, IsTrusted: h.IsTrusted,
		Ports: make([]uint16, h.Ports), Filter: make([]Instruction, h.Filter), Alone: make([]Instruction, h.Alone),
	}
	access, text := make([]uint64, h.Rules), make([]byte, h.Letters)
	for _, part := range []any{access, p.Ports, p.Filter, p.Alone, text} {
		if err := binary.Read(r, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	paths := strings.Split(string(text), "\x00")
	if len(paths) != 1+len(access) {
		return nil, errPlan
	}
	p.Path = paths[0]
	for i, path := range paths[1:] {
		p.Rules = append(p.Rules, Rule{path, access[i]})
	}
	return p, nil
}
