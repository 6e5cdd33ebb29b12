//go:build linux && (amd64 || arm64)

package cage

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The actions of a filter that have no argument.
const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	decide = uint32(unix.SECCOMP_RET_USER_NOTIF) // package warden decides about the call
)

// refuse returns the action that makes a call fail with errno.
func refuse(errno uint32) uint32 { return unix.SECCOMP_RET_ERRNO | errno }

// Offsets in the kernel's struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// test is a condition on 32 bits of one of a system call's arguments.
type test struct {
	cond bpf.JumpTest
	arg  uint32
	// high is true if the condition is on the upper 32 bits.
	high bool
	mask uint32 // the bits of the argument that are compared; 0 means all bits
	val  uint32
}

// kind is the mask that removes flags like SOCK_NONBLOCK from a socket's type.
const kind = 0xf

// is returns a test that an argument equals val. isKind tests the type of a socket, which is argument 1.
// isSet tests that the lower 32 bits of an argument are not 0, isUpperSet tests the upper 32 bits. hasAny
// tests that an argument contains at least one of the bits.
func is(arg, val uint32) test      { return test{cond: bpf.JumpEqual, arg: arg, val: val} }
func isKind(val uint32) test       { return test{cond: bpf.JumpEqual, arg: 1, mask: kind, val: val} }
func isSet(arg uint32) test        { return test{cond: bpf.JumpNotEqual, arg: arg} }
func isUpperSet(arg uint32) test   { return test{cond: bpf.JumpNotEqual, arg: arg, high: true} }
func hasAny(arg, bits uint32) test { return test{cond: bpf.JumpBitsSet, arg: arg, val: bits} }

// arm is an action that a filter takes if all tests are true. Without tests, the action is always taken.
type arm struct {
	action uint32
	tests  []test
}

// when returns an arm with an action and its tests.
func when(action uint32, tests ...test) arm { return arm{action, tests} }

// rule decides about one system call. The first arm whose tests are all true determines the action. If no arm
// matches, the call is allowed.
type rule struct {
	call uintptr
	arms []arm
}

// on returns a rule for a system call.
func on(call uintptr, arms ...arm) rule { return rule{call, arms} }

// refuseAll returns rules that make the calls fail with errno, whatever their arguments are.
func refuseAll(errno uint32, calls ...uintptr) []rule {
	var rules []rule
	for _, call := range calls {
		rules = append(rules, on(call, when(refuse(errno))))
	}
	return rules
}

// assemble compiles rules into a program in the kernel's format. The code of each rule may have at most 255
// instructions, because that is the longest jump.
func assemble(rules []rule) ([]byte, error) {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// x32 calls have other numbers, so the rules would not apply to them. They fail with ENOSYS.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(uint32(unix.ENOSYS))},
	}
	for _, r := range rules {
		var block []bpf.Instruction // runs for the rule's system call
		for _, a := range r.arms {
			block = append(block, a.code()...)
		}
		block = append(block, bpf.RetConstant{Val: allow})
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.call), SkipTrue: uint8(len(block))}) //nolint:gosec // blocks are short, and Assemble rejects a jump that is too long
		program = append(program, block...)
	}
	code, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allow}))
	if err != nil {
		return nil, err
	}
	return binary.Append(nil, binary.NativeEndian, code)
}

// x32 is the bit that is set in the numbers of all x32 calls and of no other calls.
const x32 = 0x40000000

// code returns instructions that check the tests in order and then take the action. The first test that
// fails skips the other tests and the action.
func (a arm) code() []bpf.Instruction {
	code := []bpf.Instruction{bpf.RetConstant{Val: a.action}}
	for i := len(a.tests) - 1; i >= 0; i-- {
		code = append(a.tests[i].code(uint8(len(code))), code...) //nolint:gosec // arms are short
	}
	return code
}

// code returns instructions that check the test. If it fails, they skip the given number of instructions.
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
