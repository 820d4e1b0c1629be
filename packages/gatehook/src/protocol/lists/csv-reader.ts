/** Reads CSV by RFC 4180, in linear time, record by record. Pure. */
import { RecordError, requireRecordSize } from './line-reader.ts'

/** A cell, and whether it was quoted: an empty cell is null, `""` an empty text. */
export interface CsvCell {
  readonly text: string
  readonly isQuoted: boolean
}

export interface CsvRecord {
  /** The line at which the record begins, from 1. */
  readonly line: number
  readonly cells: readonly CsvCell[]
}

/**
 * Reads the records of parts of a text. Throws `RecordError`, also for text after a quoted
 * cell and for a quote that is never closed. Lines without cells are skipped.
 */
export async function* readCsv(parts: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let line = 1
  let startLine = 1
  let size = 0
  let cells: CsvCell[] = []
  let cell = ''
  let state: 'start' | 'plain' | 'quoted' | 'closing' = 'start'
  const endCell = () => {
    cells.push({ text: cell, isQuoted: state === 'closing' })
    cell = ''
    state = 'start'
  }
  const endRecord = (): CsvRecord | undefined => {
    const isEmpty = cells.length === 0 && cell === '' && state === 'start'
    if (!isEmpty) endCell()
    const record = isEmpty ? undefined : { line: startLine, cells }
    cells = []
    size = 0
    return record
  }
  for await (const part of parts) {
    for (const character of part) {
      requireRecordSize(++size, startLine)
      if (character === '\n') line += 1
      if (state === 'quoted') {
        if (character === '"') state = 'closing'
        else cell += character
      } else if (state === 'closing' && character === '"') {
        cell += '"'
        state = 'quoted'
      } else if (character === ',') endCell()
      else if (character === '\n') {
        const record = endRecord()
        if (record) yield record
        startLine = line
      } else if (character === '\r') continue
      else if (state === 'closing') throw new RecordError(line, 'text follows a quoted cell')
      else if (character === '"' && state === 'start') state = 'quoted'
      else {
        cell += character
        state = 'plain'
      }
    }
  }
  if (state === 'quoted') throw new RecordError(startLine, 'a quote is not closed')
  const last = endRecord()
  if (last) yield last
}

const ESCAPED_FORMULA =
  /^'(?=[ '"]*[=+\-@＝＋－＠\t\r\n])|(?<=[;\t\r\n])'(?=[ '"]*[=+\-@＝＋－＠])/g

/** Returns the text of a cell without the apostrophes that an export adds (`csv.ts`). */
export const unescapeFormulas = (text: string): string => text.replace(ESCAPED_FORMULA, '')
