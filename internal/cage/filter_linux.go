//go:build linux && (amd64 || arm64)

package cage

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The actions of a filter.
const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	decide = uint32(unix.SECCOMP_RET_USER_NOTIF) // package warden decides
)

// refuse returns the action that makes a call fail with errno.
func refuse(errno uint32) uint32 { return unix.SECCOMP_RET_ERRNO | errno }

// Offsets in the kernel's struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// test is a condition on 32 bits of an argument of a call.
type test struct {
	cond bpf.JumpTest
	arg  uint32
	high bool   // tests the upper 32 bits
	mask uint32 // 0 means all bits
	val  uint32
}

// kind is the mask for a socket's type without flags like SOCK_NONBLOCK.
const kind = 0xf

func is(arg, val uint32) test      { return test{cond: bpf.JumpEqual, arg: arg, val: val} }
func isKind(val uint32) test       { return test{cond: bpf.JumpEqual, arg: 1, mask: kind, val: val} }
func isSet(arg uint32) test        { return test{cond: bpf.JumpNotEqual, arg: arg} }
func hasAny(arg, bits uint32) test { return test{cond: bpf.JumpBitsSet, arg: arg, val: bits} }

// upper returns the same test for the upper half of the argument.
func (t test) upper() test {
	t.high = true
	return t
}

// arm is an action that is taken if all tests are true.
type arm struct {
	action uint32
	tests  []test
}

func when(action uint32, tests ...test) arm { return arm{action, tests} }

// rule decides about one system call: the first arm whose tests are all true determines the action. If no arm
// matches, the call is allowed.
type rule struct {
	call uintptr
	arms []arm
}

func on(call uintptr, arms ...arm) rule { return rule{call, arms} }

// refuseAll returns rules that make calls fail with errno, whatever their arguments are.
func refuseAll(errno uint32, calls ...uintptr) []rule {
	var rules []rule
	for _, call := range calls {
		rules = append(rules, on(call, when(refuse(errno))))
	}
	return rules
}

// assemble compiles rules into a program in the kernel's format. The code of one rule is limited to 255
// instructions, the longest jump.
func assemble(rules []rule) ([]byte, error) {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// x32 calls have other numbers; without this check, the rules would not apply to them.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
	}
	for _, r := range rules {
		block := r.block()
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.call), SkipTrue: uint8(len(block))}) //nolint:gosec // blocks are short, and Assemble rejects a jump that is too long
		program = append(program, block...)
	}
	code, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allow}))
	if err != nil {
		return nil, err
	}
	return binary.Append(nil, binary.NativeEndian, code)
}

// x32 is the bit that is set in the numbers of x32 calls. No other call has a number that large.
const x32 = 0x40000000

// block returns the code that runs if the call is the rule's.
func (r rule) block() []bpf.Instruction {
	var out []bpf.Instruction
	for _, a := range r.arms {
		out = append(out, a.code()...)
	}
	return append(out, bpf.RetConstant{Val: allow})
}

// code checks one test after the other. The first test that fails skips the others and the action.
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
		off += 4 // all supported architectures are little-endian
	}
	code := []bpf.Instruction{bpf.LoadAbsolute{Off: off, Size: 4}}
	if t.mask != 0 {
		code = append(code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	}
	return append(code, bpf.JumpIf{Cond: t.cond, Val: t.val, SkipFalse: skip})
}
