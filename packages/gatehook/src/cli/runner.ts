/**
 * How commands of one kind run: what they act with is opened, the act is done, and what came of it
 * is printed. What they open, the engine or the API, is said in `engine.ts` and `api.ts`.
 */
import type { About, CommandSpec, Input } from './command.ts'
import { table } from './output.ts'

/** Opens what commands act with as long as `use` runs. */
type Open<Opened, Opening> = <T>(
  input: Input,
  use: (opened: Opened) => Promise<T> | T,
  opening?: Opening,
) => Promise<T>

/** `options` come after those of the kind; `config` stands for the kind's. */
interface Opens<Opening> extends About {
  readonly opening?: Opening
}

/** A command that acts and says what it did. */
export interface ActSpec<Opened, Opening, T> extends Opens<Opening> {
  /** Reads what was typed, before anything is opened; throws `UsageError`. Gives what is done. */
  readonly act: (input: Input) => (opened: Opened) => Promise<T> | T
  /** The result for a person; with `--json` it is printed as it is. */
  readonly said: (result: T, input: Input, opened: Opened) => string
  /** 0 without it. */
  readonly exit?: (result: T) => number
}

/** A command that shows rows: a table for a person, `{ data }` with `--json`. */
export interface ListSpec<Opened, Opening, Row> extends Opens<Opening> {
  /** As `act`. */
  readonly rows: (input: Input) => (opened: Opened) => Promise<readonly Row[]> | readonly Row[]
  /** Head → cell. */
  readonly columns: Readonly<Record<string, (row: Row) => string>>
  /** Said where there are no rows; without it, the head stands alone. */
  readonly none?: string | ((input: Input) => string)
}

/** What makes the commands of a kind, from how they open and what they all take. */
export function commandsWith<Opened, Opening = never>(
  open: Open<Opened, Opening>,
  shared: Required<Pick<CommandSpec, 'options' | 'config'>>,
) {
  const act = <T>(spec: ActSpec<Opened, Opening, T>): CommandSpec => {
    const { act, said, exit, opening, options = [], ...about } = spec
    return {
      ...shared,
      ...about,
      options: [...shared.options, ...options],
      async run(input) {
        const begin = act(input)
        const { result, text } = await open(
          input,
          async (opened) => {
            const result = await begin(opened)
            return { result, text: said(result, input, opened) }
          },
          opening,
        )
        input.out.result(result, () => text)
        return exit?.(result)
      },
    }
  }
  const list = <Row>(spec: ListSpec<Opened, Opening, Row>): CommandSpec => {
    const { rows, columns, none, ...about } = spec
    const [head, cells] = [Object.keys(columns), Object.values(columns)]
    return act({
      ...about,
      act(input) {
        const read = rows(input)
        return async (opened) => ({ data: await read(opened) })
      },
      said: ({ data }, input) =>
        data.length === 0 && none !== undefined
          ? typeof none === 'string'
            ? none
            : none(input)
          : table(
              head,
              data.map((row) => cells.map((cell) => cell(row))),
            ),
    })
  }
  return { act, list }
}
