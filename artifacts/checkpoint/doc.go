// Package checkpoint knows what a checkpoint is: all that a later job on another
// machine needs to go on with a run, in one zip archive.
//
// In it are the files of the run (state.json, events.jsonl, logs/, transcripts/,
// workspace/) and a manifest that says what they are, where they come from and
// what each of them must be. With a key, all of that is sealed: an archive with
// two files, a clear header and an age file that holds the former.
//
//	plain:  manifest.json and the files
//	sealed: bundle.age, a zip of manifest.json, manifest.mac and the files,
//	        encrypted to the first key's own recipient
//	        header.json: schema, generation, which key, size and SHA-256 of
//	        bundle.age, and a MAC of these
//
// An age file keeps a secret, but anybody who knows the recipient can make one.
// What makes a checkpoint ours are the two MACs, HMAC-SHA256 under keys that
// HKDF-SHA256 derives from the identity's text.
//
// The package also knows which conversations a run needs (Sessions) and how the
// directories of one machine are found again on another (Relocation). It knows
// nothing of artifacts as a service, of git, or of the agent CLI, and it judges no
// origin: whether a checkpoint may be taken up is decided elsewhere.
package checkpoint
