/** A command line becomes a command that runs, and how the process ends. */
import { Command, CommanderError } from 'commander'
import { addCommand, type CommandSpec, type FamilySpec } from './command.ts'
import { EXIT, explain } from './mistake.ts'
import { processOutput } from './output.ts'
import { start } from './start.ts'
import { packageVersion } from './version.ts'

type Specs = readonly (CommandSpec | FamilySpec)[]

/** A service is not to keep, as long as it runs, what it never calls: the others are 6 MB. */
const specsFor = async (word: string | undefined): Promise<Specs> =>
  word === 'start' ? [start] : (await import('./commands.ts')).commands

function program(specs: Specs): Command {
  const root = new Command('gatehook')
    .description('The public-API platform in a box: keys, lists, events, versions.')
    .version(packageVersion, '--version', 'print the version')
    .option('--json', 'print one JSON document')
    .helpCommand(false)
    .enablePositionalOptions() // or `openapi --version v1` would print the program's version
    .addHelpText(
      'after',
      '\nExamples:\n  gatehook start                 serve what ./service.ts declares\n' +
        '  gatehook init my-api           write a small project to start from\n' +
        '  gatehook keys create --help    every command explains itself',
    )
  const finish = (exit: number) => {
    process.exitCode = exit
  }
  for (const spec of specs) addCommand(root, spec, finish)
  quietly(root)
  return root
}

/** Commander throws instead of ending the process, and leaves telling the mistake to us. */
function quietly(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined })
  for (const each of command.commands) quietly(each)
}

const isNamed = (word: string | undefined) => (spec: CommandSpec | FamilySpec) =>
  spec.name.split(' ')[0] === word

/** The words of a command line that name a command: `keys revoke `, `keys `, or nothing. */
function named([first, second]: readonly string[], specs: Specs): string {
  const spec = specs.find(isNamed(first))
  if (!spec) return ''
  const within = 'commands' in spec && spec.commands.some(isNamed(second))
  return within ? `${first} ${second} ` : `${first} `
}

/** Help and version were asked for; anything else commander throws is a wrong command line. */
function ended(error: unknown, argv: readonly string[], specs: Specs): number {
  const out = processOutput(argv.includes('--json'))
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.fine
    if (error.code === 'commander.help') return EXIT.usage // `gatehook keys` alone: it was shown
    const [sentence = '', hint = ''] = error.message.replace(/^error: /, '').split('\n')
    out.mistake(
      [
        [sentence, hint, `See: gatehook ${named(argv, specs)}--help`]
          .filter(Boolean)
          .join('\n      '),
      ],
      EXIT.usage,
    )
    return EXIT.usage
  }
  const mistake = explain(error)
  if (mistake) {
    out.mistake(mistake.sentences, mistake.exit)
    return mistake.exit
  }
  out.mistake([`This is a bug in Gatehook ${packageVersion}; please report it:`], EXIT.failed)
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return EXIT.failed
}

/** Runs a command line, without the program's name; what it ended with is `process.exitCode`. */
export async function run(argv: readonly string[]): Promise<void> {
  // `gatehook config | head` closes the pipe early; that is no mistake of anybody's.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.fine)
    throw error
  })
  const specs = await specsFor(argv[0])
  try {
    await program(specs).parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' })
  } catch (error) {
    process.exitCode = ended(error, argv, specs)
  }
}
