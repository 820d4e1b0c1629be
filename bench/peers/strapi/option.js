/** The value behind `--name` on the command line. */
exports.option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1]
