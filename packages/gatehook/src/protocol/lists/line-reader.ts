/** Reads the lines of a text that arrives in parts, in linear time. Pure. */

/**
 * Characters of a record: a line of NDJSON, or a record of CSV. A file without line feeds, or with
 * a missing quote, would otherwise be one record.
 */
const RECORD_MAX = 4_194_304

/** Why a text has no further records. */
export class RecordError extends Error {
  /** From 1. */
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** Throws `RecordError` for a record that begins at `line` and is too long. */
export function requireRecordSize(size: number, line: number): void {
  if (size > RECORD_MAX) throw new RecordError(line, 'the record is longer than 4 MiB')
}

/** Returns the lines of a text without their line feeds. Throws `RecordError`. */
export async function* readLines(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let line = 1
  let size = 0
  let pieces: string[] = []
  for await (const part of parts) {
    const [end, ...lines] = part.split('\n')
    const add = (piece: string) => {
      size += piece.length
      requireRecordSize(size, line)
      pieces.push(piece)
    }
    add(end!)
    for (const piece of lines) {
      yield pieces.join('')
      line += 1
      size = 0
      pieces = []
      add(piece)
    }
  }
  if (size > 0) yield pieces.join('')
}
