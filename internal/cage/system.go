package cage

// SystemPaths returns the files of the machine that programs need and that don't contain data of a job or a
// user. If these directories contain symbolic links to other directories, the targets are not included.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/home/linuxbrew",
		"/proc", "/sys", "/var/lib", "/var/cache",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/shm",
	}
}
