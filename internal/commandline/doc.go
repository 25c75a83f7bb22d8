// Package commandline has the parts of a command line that both programs share: -o,
// the command config, and what an unknown command is answered. In: where a program's
// configuration comes from. Out: commands of cobra. It reads no configuration itself.
package commandline
