/**
 * Commands as data: names, options and examples, from which commander is configured. Also the two
 * shapes of most commands: one performs an action, one lists rows.
 */
import { Command, Option } from 'commander'
import type { Flags } from '../config/config.ts'
import { flagOf, type OptionName, optionList } from '../config/options.ts'
import { bold, dim, type Output, processOutput, table } from './output.ts'

export interface Input {
  readonly args: readonly (string | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
  /** Values of configuration flags that were given. */
  readonly flags: Flags
  readonly out: Output
}

export interface CommandSpec {
  /** Name and arguments: `start [DIR]`. */
  readonly name: string
  readonly summary: string
  /** Replaces the summary in `--help`. */
  readonly description?: string
  readonly options?: readonly (readonly [flags: string, meaning: string])[]
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
  for (const [flags, meaning] of spec.options ?? []) command.option(flags, meaning)
  command.option('--json', spec.json ?? 'print one JSON document')
  addConfigFlags(command, spec.config)
  const examples = spec.examples.map(([line, meaning]) => `  ${line}\n    ${dim(meaning)}`)
  command.addHelpText('after', `\n${bold('Examples:')}\n${examples.join('\n')}`)
  command.action(async () => {
    const options = command.optsWithGlobals()
    const flags = Object.fromEntries(
      optionList.filter(([name]) => name in options).map(([name]) => [name, options[name]]),
    )
    const out = processOutput(options.json === true)
    finish((await spec.run({ args: command.processedArgs, options, flags, out })) ?? 0)
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
  for (const member of spec.commands) addCommand(family, member, finish)
  parent.addCommand(family)
}

/** Opens the API or the installation, runs `use` with it, and closes it. */
type OpenTarget<Target, Opening> = <T>(
  input: Input,
  use: (target: Target) => Promise<T>,
  opening?: Opening,
) => Promise<T>

interface OpeningCommand<Opening> extends CommandDescription {
  readonly opening?: Opening
}

/** A command that performs an action and describes the result. */
export interface ActionSpec<Target, Opening, T> extends OpeningCommand<Opening> {
  /** Reads arguments before the target opens (throws `UsageError`) and returns the action. */
  readonly act: (input: Input) => (target: Target) => Promise<T> | T
  /** The result as text for people; `--json` prints the result itself. */
  readonly describe: (result: T, input: Input, target: Target) => Promise<string> | string
  /** Exit code; 0 without it. */
  readonly exit?: (result: T) => number
}

/** A command that lists rows: a table for people, `{data}` with `--json`. */
export interface ListSpec<Target, Opening, Row> extends OpeningCommand<Opening> {
  /** As `act` of an action. */
  readonly rows: (input: Input) => (target: Target) => Promise<readonly Row[]> | readonly Row[]
  /** Column title → cell. */
  readonly columns: Readonly<Record<string, (row: Row) => string>>
  /** Printed instead of an empty table. */
  readonly empty?: string | ((input: Input) => string)
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
  const action = <T>(spec: ActionSpec<Target, Opening, T>): CommandSpec => {
    const { act, describe, exit, opening, options = [], ...description } = spec
    return {
      ...shared,
      ...description,
      options: [...shared.options, ...options],
      async run(input) {
        const perform = act(input)
        const { result, text } = await open(
          input,
          async (target) => {
            const result = await perform(target)
            return { result, text: await describe(result, input, target) }
          },
          opening,
        )
        input.out.result(result, () => text)
        return exit?.(result)
      },
    }
  }
  const list = <Row>(spec: ListSpec<Target, Opening, Row>): CommandSpec => {
    const { rows, columns, empty, ...description } = spec
    const [titles, cells] = [Object.keys(columns), Object.values(columns)]
    const tableOf = (data: readonly Row[]) =>
      table(
        titles,
        data.map((row) => cells.map((cell) => cell(row))),
      )
    return action({
      ...description,
      act(input) {
        const read = rows(input)
        return async (target) => ({ data: await read(target) })
      },
      describe({ data }, input) {
        if (data.length > 0 || empty === undefined) return tableOf(data)
        return typeof empty === 'string' ? empty : empty(input)
      },
    })
  }
  return { action, list }
}
