/** Returns the value of `--name` on the command line. */
exports.option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1]
