/** The messages between `file.ts` and its thread. Types only. */

/** A statement as plain values. */
export interface FileStatement {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** The data of the thread. It imports little, because each module takes memory once more. */
export interface FileThreadData {
  readonly file: string
  /** The DDL of the tables. */
  readonly tables: string
}

/** The data of a thread of low or normal priority. */
export interface FileWorkerData extends FileThreadData {
  readonly isLow: boolean
}

export type FileCommand =
  /** `write` is the JSON of `FileStatement[]`: a clone of its values takes four times as long. */
  | { readonly no: number; readonly write: string }
  | { readonly no: number; readonly rows: 'objects' | 'arrays'; readonly statement: FileStatement }
  | { readonly no: number; readonly close: true }

/** Why the file could not be used. */
export type FileTrouble = 'corrupt' | 'locked' | 'failed'

export type FileResult =
  | { readonly no: number; readonly value: unknown }
  | { readonly no: number; readonly trouble: FileTrouble; readonly message: string }
  /** The file was damaged: it was renamed, and a new one is in use. */
  | { readonly renamedTo: string; readonly message: string }
