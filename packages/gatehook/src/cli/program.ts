/** Runs a command line and sets the exit code of the process. */
import { Command, CommanderError } from 'commander'
import { addCommand, type CommandFamily, type CommandSpec } from './command.ts'
import { type CommandList, loadCommands } from './commands.ts'
import { EXIT, reportOfError } from './errors.ts'
import { logOutput, processOutput, writeText } from './output.ts'
import { packageVersion } from './own-package.ts'

/** Returns the program of these commands, whose mistakes are thrown. */
export function createProgram(specs: CommandList): Command {
  const root = new Command('gatehook')
    .description('The public-API platform in a box: keys, lists, events, versions.')
    .version(packageVersion, '--version', 'print the version')
    .option('--json', 'print one JSON document')
    .helpCommand(false)
    .enablePositionalOptions() // or `openapi --version v1` would print the program's version
    .addHelpText(
      'after',
      '\nExamples:\n  gatehook start                 serve the API of ./service.ts\n' +
        '  gatehook init my-api           write a small project to start from\n' +
        '  gatehook keys create --help    every command explains itself',
    )
  const finish = (exit: number) => {
    process.exitCode = exit
  }
  for (const spec of specs) addCommand(root, spec, finish)
  throwErrors(root)
  return root
}

/** Configures commander to throw instead of printing an error and ending the process. */
function throwErrors(command: Command): void {
  const writeOut = (text: string) => writeText(process.stdout, text)
  command.exitOverride().configureOutput({ writeOut, outputError: () => undefined })
  for (const subcommand of command.commands) throwErrors(subcommand)
}

const isNamed = (word: string | undefined) => (spec: CommandSpec | CommandFamily) =>
  spec.name.split(' ')[0] === word

/** Returns the command's name in a command line: `keys revoke `, `keys ` or an empty string. */
function commandName([first, second]: readonly string[], specs: CommandList): string {
  const spec = specs.find(isNamed(first))
  if (!spec) return ''
  const hasSubcommand = 'commands' in spec && spec.commands.some(isNamed(second))
  return hasSubcommand ? `${first} ${second} ` : `${first} `
}

/** Options that many commands share, which are no value of a command's own. */
const SHARED_OPTIONS: ReadonlySet<string> = new Set(['--dir', '--url', '--mode', '--customer'])

/**
 * Suggests the first option of a command without arguments that gets one: `openapi v2` means
 * `openapi --version v2`.
 */
function optionHint(argv: readonly string[], specs: CommandList): string {
  const name = commandName(argv, specs).trim()
  const [first, second] = name.split(' ')
  const named = specs.find(isNamed(first))
  const spec = named && 'commands' in named ? named.commands.find(isNamed(second)) : named
  const word = argv[name.split(' ').length]
  if (!spec || 'commands' in spec || spec.name.includes(' ') || !word) return ''
  const names = (spec.options ?? []).flatMap(([flags]) => /^(--\S+) </.exec(flags)?.[1] ?? [])
  const option = names.find((option) => !SHARED_OPTIONS.has(option))
  return option === undefined || word.startsWith('-')
    ? ''
    : `Try: gatehook ${name} ${option} ${word}`
}

/** Prints an error and returns the exit code. Commander also throws for --help and --version. */
function reportError(error: unknown, argv: readonly string[], specs: CommandList): number {
  const out = processOutput(argv.includes('--json'))
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.ok
    if (error.code === 'commander.help') return EXIT.usage // `gatehook keys` alone
    const [sentence = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
    const isExcess = error.code === 'commander.excessArguments'
    const hint = isExcess ? optionHint(argv, specs) : suggestion
    out.error(
      [
        [sentence, hint, `See: gatehook ${commandName(argv, specs)}--help`]
          .filter(Boolean)
          .join('\n      '),
      ],
      EXIT.usage,
    )
    return EXIT.usage
  }
  const report = reportOfError(error)
  if (report?.exit === EXIT.usage) {
    out.error(report.sentences, report.exit)
    return report.exit
  }
  // The error of a start is a line of its log. That of a person who types is not.
  const isLog = argv[0] === 'start' && !out.json && !out.terminal
  const { error: print } = isLog ? logOutput() : out
  if (report) {
    print(report.sentences, report.exit)
    return report.exit
  }
  const text = error instanceof Error ? error.stack : String(error)
  print([`This is a bug in Gatehook ${packageVersion}; please report it:\n${text}`], EXIT.failed)
  return EXIT.failed
}

/**
 * Runs a command line and sets `process.exitCode`.
 *
 * @param argv - the arguments, without the names of Node and of the program
 */
export async function run(argv: readonly string[]): Promise<void> {
  // `gatehook config | head` closes the pipe early: not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })
  const specs = await loadCommands(argv[0])
  try {
    await createProgram(specs).parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' })
  } catch (error) {
    process.exitCode = reportError(error, argv, specs)
  }
}
