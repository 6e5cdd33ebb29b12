//go:build linux && (amd64 || arm64)

package cage

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
)

// verdict returns the action of a filter for a call without arguments. It runs the filter in an emulator
// instead of the kernel.
func verdict(t *testing.T, o filterOptions, architecture, call uint32) uint32 {
	t.Helper()
	program, err := filter(o)
	assert.NilError(t, err)
	raw, code := make([]bpf.RawInstruction, len(program)/unix.SizeofSockFilter), []bpf.Instruction(nil)
	_, err = binary.Decode(program, binary.NativeEndian, raw)
	assert.NilError(t, err)
	for _, i := range raw {
		code = append(code, i.Disassemble())
	}
	vm, err := bpf.NewVM(code)
	assert.NilError(t, err)
	data := make([]byte, 64) // struct seccomp_data, but in big-endian byte order, which the emulator expects
	binary.BigEndian.PutUint32(data[offNumber:], call)
	binary.BigEndian.PutUint32(data[offArch:], architecture)
	action, err := vm.Run(data)
	assert.NilError(t, err)
	return uint32(action)
}

// TestOtherArchitecturesAreRefused checks that calls of other architectures fail with ENOSYS. Their
// calls have other numbers, so the filter's rules would not apply to them.
func TestOtherArchitecturesAreRefused(t *testing.T) {
	for _, o := range []filterOptions{{}, {isOpen: true}, {hasWarden: true, isScoped: true, isTraced: true}} {
		assert.Check(t, verdict(t, o, arch, unix.SYS_GETPID) == allow, "%+v: getpid", o)
		for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_MIPS} {
			assert.Check(t, verdict(t, o, other, unix.SYS_GETPID) == refuse(uint32(unix.ENOSYS)), "%+v: getpid of the architecture %x", o, other)
		}
		assert.Check(t, verdict(t, o, arch, x32|unix.SYS_GETPID) == refuse(uint32(unix.ENOSYS)), "%+v: getpid of x32", o)
	}
}
