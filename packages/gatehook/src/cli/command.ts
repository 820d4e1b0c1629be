/**
 * What a command is, as data, and how commander is told: names, options, examples, and the flags of
 * the option table. The commands themselves are one file each beside this one.
 */
import { Command, Option } from 'commander'
import type { Flags } from '../config/config.ts'
import { flagOf, type OptionName, optionList } from '../config/options.ts'
import { bold, dim, type Output, processOutput } from './output.ts'

export interface Input {
  readonly args: readonly (string | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
  /** Flags of the option table that were given. */
  readonly flags: Flags
  readonly out: Output
}

export interface CommandSpec {
  /** Name and arguments: `start [DIR]`. */
  readonly name: string
  readonly summary: string
  /** More than the summary, for `--help`. */
  readonly description?: string
  readonly options?: readonly (readonly [flags: string, meaning: string])[]
  readonly examples: readonly (readonly [command: string, meaning: string])[]
  /** What `--json` prints, where that is not one document. */
  readonly json?: string
  /** Which flags of the option table its help shows; all of them are taken. None without it. */
  readonly config?: 'all' | readonly OptionName[]
  /** Resolves with the exit code, 0 when there is none. */
  readonly run: (input: Input) => Promise<number | undefined> | number | undefined
}

/** A command but for what it does. */
export type About = Omit<CommandSpec, 'run'>

/** Commands of one noun: `keys list`, `keys create`. */
export interface FamilySpec {
  readonly name: string
  readonly summary: string
  readonly commands: readonly CommandSpec[]
}

export type Finish = (exit: number) => void

function addConfigFlags(command: Command, shown: CommandSpec['config']): void {
  if (!shown) return
  command.optionsGroup('Configuration (gatehook config prints where each value comes from):')
  for (const [name, row] of optionList) {
    const flag = flagOf(row)
    if (!flag) continue
    const takesValue = row.kind.name !== 'switch'
    const option = new Option(takesValue ? `${flag} <value>` : flag, row.sentence)
    command.addOption(option.hideHelp(shown !== 'all' && !shown.includes(name)))
  }
}

const exampleText = (examples: CommandSpec['examples']) =>
  examples.map(([command, meaning]) => `  ${command}\n    ${dim(meaning)}`).join('\n')

function build(spec: CommandSpec, finish: Finish): Command {
  const command = new Command(spec.name.split(' ')[0])
  for (const argument of spec.name.split(' ').slice(1)) command.argument(argument)
  command.summary(spec.summary).description(spec.description ?? spec.summary)
  for (const [flags, meaning] of spec.options ?? []) command.option(flags, meaning)
  command.option('--json', spec.json ?? 'print one JSON document')
  addConfigFlags(command, spec.config)
  command.addHelpText('after', `\n${bold('Examples:')}\n${exampleText(spec.examples)}`)
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

/** Adds a command or a family of commands under `parent`. */
export function addCommand(parent: Command, spec: CommandSpec | FamilySpec, finish: Finish): void {
  if (!('commands' in spec)) {
    parent.addCommand(build(spec, finish))
    return
  }
  const family = new Command(spec.name).summary(spec.summary).description(spec.summary)
  family.helpCommand(false)
  for (const each of spec.commands) addCommand(family, each, finish)
  parent.addCommand(family)
}
