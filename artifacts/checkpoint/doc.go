// Package checkpoint defines the format of a checkpoint: everything that a later job on another machine
// needs to resume a run, in one zip archive.
//
// The archive contains the files of the run (state.json, state.history, events.jsonl, logs/,
// transcripts/, workspace/) and a manifest with their sizes and hashes and facts about the run. With a
// key, the checkpoint is sealed: these files are encrypted, and the archive has two files, the
// encrypted one and a readable header.
//
//	plain:  manifest.json and the files
//	sealed: bundle.age, a zip of manifest.json and the files, encrypted to the
//	        recipient of the first key
//	        header.json: schema, fingerprint of the key, size and SHA-256 of
//	        bundle.age, and a MAC of these
//
// Encryption with age doesn't authenticate the sender: anyone who knows the recipient can make an age
// file. The MAC proves that a holder of the key made the checkpoint. It is HMAC-SHA256 under a key that
// HKDF-SHA256 derives from the text of the identity, and covers every byte of bundle.age.
//
// The package also lists the conversations that a run needs (Sessions) and maps the directories of one
// machine to another (Relocation). It knows nothing about artifact services, git, or agent CLIs. Other
// packages decide whether a checkpoint may be resumed.
package checkpoint
