//go:build linux && (amd64 || arm64)

package cage

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What a filter says of a call.
const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	decide = uint32(unix.SECCOMP_RET_USER_NOTIF) // package warden does
)

// refuse makes a call fail.
func refuse(errno uint32) uint32 { return unix.SECCOMP_RET_ERRNO | errno }

// Offsets in the kernel's struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// test is a condition on an argument of a call, of which it looks at 32 bits.
type test struct {
	cond bpf.JumpTest
	arg  uint32
	high bool   // the upper 32 bits
	mask uint32 // 0: all bits
	val  uint32
}

// kind is what a socket is, without the flags beside it.
const kind = 0xf

func is(arg, val uint32) test      { return test{cond: bpf.JumpEqual, arg: arg, val: val} }
func isKind(val uint32) test       { return test{cond: bpf.JumpEqual, arg: 1, mask: kind, val: val} }
func isSet(arg uint32) test        { return test{cond: bpf.JumpNotEqual, arg: arg} }
func hasAny(arg, bits uint32) test { return test{cond: bpf.JumpBitsSet, arg: arg, val: bits} }

// upper looks at the upper half of the argument.
func (t test) upper() test {
	t.high = true
	return t
}

// arm is what happens if all tests hold.
type arm struct {
	action uint32
	tests  []test
}

func when(action uint32, tests ...test) arm { return arm{action, tests} }

// rule says what happens at one call: what the first arm says whose tests hold, else
// it is allowed.
type rule struct {
	call uintptr
	arms []arm
}

func on(call uintptr, arms ...arm) rule { return rule{call, arms} }

// refused are rules that refuse calls whatever their arguments.
func refused(errno uint32, calls ...uintptr) []rule {
	var rules []rule
	for _, call := range calls {
		rules = append(rules, on(call, when(refuse(errno))))
	}
	return rules
}

// assemble makes a program of rules, as the kernel has it. A rule's jumps reach 255 instructions.
func assemble(rules []rule) ([]byte, error) {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// The calls of x32, which are those of another architecture.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
	}
	for _, r := range rules {
		block := r.block()
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.call), SkipTrue: uint8(len(block))}) //nolint:gosec // blocks are short, and Assemble would find a jump that is too long
		program = append(program, block...)
	}
	code, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allow}))
	if err != nil {
		return nil, err
	}
	return binary.Append(nil, binary.NativeEndian, code)
}

// x32 is the bit that marks calls of x32, and the first number that no call has elsewhere.
const x32 = 0x40000000

// block is what is done at the call of a rule.
func (r rule) block() []bpf.Instruction {
	var out []bpf.Instruction
	for _, a := range r.arms {
		out = append(out, a.code()...)
	}
	return append(out, bpf.RetConstant{Val: allow})
}

// code tests one condition after the other. The first that fails skips the rest.
func (a arm) code() []bpf.Instruction {
	code := []bpf.Instruction{bpf.RetConstant{Val: a.action}}
	for i := len(a.tests) - 1; i >= 0; i-- {
		code = append(a.tests[i].code(uint8(len(code))), code...) //nolint:gosec // arms are short
	}
	return code
}

// code skips the given number of instructions if the test fails.
func (t test) code(skip uint8) []bpf.Instruction {
	off := offArgs + 8*t.arg
	if t.high {
		off += 4 // all systems that this is built for have the lower half first
	}
	code := []bpf.Instruction{bpf.LoadAbsolute{Off: off, Size: 4}}
	if t.mask != 0 {
		code = append(code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	}
	return append(code, bpf.JumpIf{Cond: t.cond, Val: t.val, SkipFalse: skip})
}
