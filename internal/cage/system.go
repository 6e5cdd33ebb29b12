package cage

// SystemPaths are the files of the machine that programs need, and that hold nothing of a job or of a user. What links among
// them lead to elsewhere is not among them.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/home/linuxbrew",
		"/proc", "/sys", "/var/lib", "/var/cache",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/shm",
	}
}
