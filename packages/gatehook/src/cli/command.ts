/**
 * Commands as data: names, options and examples, from which commander is configured. Also the two
 * shapes of most commands: one performs an action, one lists rows.
 */
import { Command, Option } from 'commander'
import { printableValue } from '../kernel/printable.ts'
import type { Config, Flags } from '../platform/config/config.ts'
import { readConfig } from '../platform/config/environment.ts'
import { flagOf, type OptionName, optionList } from '../platform/config/options.ts'
import type { AnyMember } from '../protocol/fields/members.ts'
import { columnsOf } from './columns.ts'
import { UsageError } from './errors.ts'
import { bold, dim, type Output, processOutput, table } from './output.ts'

export interface Input {
  readonly args: readonly (string | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
  /** Values of configuration flags that were given. */
  readonly flags: Flags
  /** The folder of the service: DIR or `--dir`, or the current one. */
  readonly folder: string
  readonly out: Output
}

/** The option of commands that have no argument DIR. */
export const DIR_OPTION = ['--dir <DIR>', 'folder of service.ts (default: this folder)'] as const

/** Reads the configuration; a relative path of the database is relative to the service. */
export const configOf = ({ flags, folder }: Pick<Input, 'flags' | 'folder'>): Config =>
  readConfig(flags, folder)

/** `hidden`: `--help` does not list it. */
export type CommandOption = readonly [flags: string, meaning: string, visibility?: 'hidden']

export interface CommandSpec {
  /** Name and arguments: `start [DIR]`. */
  readonly name: string
  readonly summary: string
  /** Replaces the summary in `--help`. */
  readonly description?: string
  readonly options?: readonly CommandOption[]
  readonly examples: readonly (readonly [command: string, meaning: string])[]
  /** Output of `--json`, where it is not one document. */
  readonly json?: string
  /** Configuration flags that `--help` lists. The command accepts all; without it, none. */
  readonly config?: 'all' | readonly OptionName[]
  /** Resolves with the exit code; undefined is 0. */
  readonly run: (input: Input) => Promise<number | undefined> | number | undefined
}

/** A command without its implementation. */
export type CommandDescription = Omit<CommandSpec, 'run'>

/** Commands of one noun: `keys list`, `keys create`. */
export interface CommandFamily {
  readonly name: string
  readonly summary: string
  readonly commands: readonly CommandSpec[]
  /** Whether the first command runs if none is named: `gatehook requests`. */
  readonly startsWithFirst?: true
}

function addConfigFlags(command: Command, listedFlags: CommandSpec['config']): void {
  if (!listedFlags) return
  command.optionsGroup('Configuration (gatehook config prints where each value comes from):')
  for (const [name, row] of optionList) {
    const flag = flagOf(row)
    if (!flag) continue
    const takesValue = row.kind.name !== 'switch'
    const option = new Option(takesValue ? `${flag} <value>` : flag, row.sentence)
    command.addOption(option.hideHelp(listedFlags !== 'all' && !listedFlags.includes(name)))
  }
}

function commanderCommand(spec: CommandSpec, finish: (exit: number) => void): Command {
  const command = new Command(spec.name.split(' ')[0])
  for (const argument of spec.name.split(' ').slice(1)) command.argument(argument)
  command.summary(spec.summary).description(spec.description ?? spec.summary)
  const takesFolder = spec.name.endsWith(' [DIR]')
  for (const [flags, meaning, visibility] of spec.options ?? []) {
    command.addOption(new Option(flags, meaning).hideHelp(visibility === 'hidden'))
  }
  if (takesFolder) command.option('--dir <DIR>', 'the same as DIR')
  command.option('--json', spec.json ?? 'print one JSON document')
  addConfigFlags(command, spec.config)
  const examples = spec.examples.map(([line, meaning]) => `  ${line}\n    ${dim(meaning)}`)
  command.addHelpText('after', `\n${bold('Examples:')}\n${examples.join('\n')}`)
  command.action(async () => {
    const options: Record<string, unknown> = command.optsWithGlobals()
    const flags = Object.fromEntries(
      optionList.filter(([name]) => name in options).map(([name]) => [name, options[name]]),
    )
    const out = processOutput(options.json === true)
    const words = command.processedArgs
    const word = takesFolder ? words.at(-1) : undefined
    if (word !== undefined && options.dir !== undefined) {
      throw new UsageError('DIR and --dir exclude each other.')
    }
    const named = word ?? options.dir
    const args = takesFolder ? words.with(-1, named) : words
    const folder = String(named ?? '.')
    finish((await spec.run({ args, options, flags, folder, out })) ?? 0)
  })
  return command
}

/** Adds a command or a family under `parent`. `finish` receives the exit code. */
export function addCommand(
  parent: Command,
  spec: CommandSpec | CommandFamily,
  finish: (exit: number) => void,
): void {
  if (!('commands' in spec)) {
    parent.addCommand(commanderCommand(spec, finish))
    return
  }
  const family = new Command(spec.name).summary(spec.summary).description(spec.summary)
  family.helpCommand(false)
  for (const [at, member] of spec.commands.entries()) {
    const isDefault = at === 0 && spec.startsWithFirst === true
    family.addCommand(commanderCommand(member, finish), { isDefault })
  }
  parent.addCommand(family)
}

/**
 * Opens the API or the installation, runs `use` with it, and closes it. `use` may get the command
 * line with ids in place of names.
 */
type OpenTarget<Target, Opening> = <T>(
  input: Input,
  use: (target: Target, named?: Input) => Promise<T>,
  opening?: Opening,
) => Promise<T>

interface OpeningCommand<Opening> extends CommandDescription {
  readonly opening?: Opening
}

/** A command that performs an action and describes the result. */
export interface ActionSpec<Target, Opening, T, Parsed> extends OpeningCommand<Opening> {
  /** Reads options before the target opens. Throws `UsageError`. */
  readonly parse?: (input: Input) => Parsed
  readonly act: (target: Target, input: Input, parsed: Parsed) => Promise<T> | T
  /** The result as text for people; `--json` prints the result itself. */
  readonly describe: (result: T, input: Input, target: Target) => Promise<string> | string
  /** Exit code; 0 without it. */
  readonly exit?: (result: T) => number
}

/** A command that lists rows: a table for people, `{data}` with `--json`. */
export interface ListSpec<Target, Opening, Row, Parsed> extends OpeningCommand<Opening> {
  /** As of an action. */
  readonly parse?: (input: Input) => Parsed
  readonly rows: (
    target: Target,
    input: Input,
    parsed: Parsed,
  ) => Promise<readonly Row[]> | readonly Row[]
  /** The object of a row, which declares its columns. */
  readonly columns: AnyMember
  /** Cells by the name of the column, in place of the object's. */
  readonly cells?: Readonly<Record<string, (row: Row) => string>>
  /** Printed instead of an empty table. */
  readonly empty?: string | ((input: Input, target: Target) => string)
}

/**
 * Returns the constructors of commands for one kind of target.
 *
 * @param open - opens the target of each command
 * @param shared - options and configuration flags that all of these commands take
 */
export function commandsOn<Target, Opening = never>(
  open: OpenTarget<Target, Opening>,
  shared: Required<Pick<CommandSpec, 'options' | 'config'>>,
) {
  const action = <T, Parsed = undefined>(
    spec: ActionSpec<Target, Opening, T, Parsed>,
  ): CommandSpec => {
    const { parse, act, describe, exit, opening, options = [], ...description } = spec
    return {
      ...shared,
      ...description,
      options: [...shared.options, ...options],
      async run(input) {
        const parsed = parse?.(input) as Parsed
        const use = async (target: Target, named = input) => {
          const read = named === input ? parsed : (parse?.(named) as Parsed)
          const result = await act(target, named, read)
          return { result, text: await describe(printableValue(result), input, target) }
        }
        const { result, text } = await open(input, use, opening)
        input.out.result(result, () => text)
        return exit?.(result)
      },
    }
  }
  const list = <Row, Parsed = undefined>(
    spec: ListSpec<Target, Opening, Row, Parsed>,
  ): CommandSpec => {
    const { rows, columns, cells = {}, empty, ...description } = spec
    const listed = columnsOf<Row>(columns, cells)
    return action<{ data: readonly Row[] }, Parsed>({
      ...description,
      act: async (target, input, parsed) => ({ data: await rows(target, input, parsed) }),
      describe({ data }, input, target) {
        if (data.length > 0 || empty === undefined) {
          return table(
            listed.map(([title]) => title),
            data.map((row) => listed.map(([, cell]) => cell(row))),
          )
        }
        return typeof empty === 'string' ? empty : empty(input, target)
      },
    })
  }
  return { action, list }
}
