/**
 * The search for many texts at once, as whole words: one pass over the text, whatever it and the
 * searched texts repeat (an automaton of Aho and Corasick). Pure.
 */

/** A place that follows no word, and one that precedes none. */
const [BEGIN, END] = [0x1_00_00, 0x1_00_01]

interface State {
  readonly next: Map<number, State>
  /** The state of the longest end of this one's text that begins a searched text. */
  rest: State | undefined
  isFound: boolean
}

export interface Needle {
  readonly text: string
  /** Whether a longer word may begin with the last one. */
  readonly isBeginning: boolean
}

/** Returns whether a UTF-16 unit belongs to a word; a pattern decides once for each unit. */
export function unitsOf(pattern: RegExp): (unit: number) => boolean {
  const [UNDECIDED, NO, YES] = [0, 1, 2]
  const decided = new Uint8Array(0x1_00_00)
  return (unit) => {
    if (decided[unit] === UNDECIDED)
      decided[unit] = pattern.test(String.fromCharCode(unit)) ? YES : NO
    return decided[unit] === YES
  }
}

export class Needles {
  /** The steps of all searches: a search makes at most six for a character. */
  steps = 0
  readonly #isWord: (unit: number) => boolean
  readonly #root: State = { next: new Map(), rest: undefined, isFound: false }

  constructor(needles: readonly Needle[], isWord: (unit: number) => boolean) {
    this.#isWord = isWord
    for (const needle of needles) this.#add(needle)
    this.#linkRests()
  }

  /** Whether a text contains one of the needles that is no part of a longer word. */
  areIn(text: string): boolean {
    if (this.#root.next.size === 0) return false
    let state = this.#root
    for (let at = 0; at <= text.length; at++) {
      if (this.#ends(text, at)) state = this.#step(state, END)
      if (state.isFound) return true
      if (this.#begins(text, at)) state = this.#step(state, BEGIN)
      if (at < text.length) state = this.#step(state, text.charCodeAt(at))
      if (state.isFound) return true
    }
    return false
  }

  #begins(text: string, at: number): boolean {
    return at === 0 || !this.#isWord(text.charCodeAt(at - 1))
  }

  #ends(text: string, at: number): boolean {
    return at === text.length || !this.#isWord(text.charCodeAt(at))
  }

  #step(from: State, symbol: number): State {
    for (let state: State | undefined = from; state; state = state.rest) {
      this.steps += 1
      const next = state.next.get(symbol)
      if (next) return next
    }
    return this.#root
  }

  #add({ text, isBeginning }: Needle): void {
    if (text === '') return
    let state = this.#root
    const extend = (symbol: number) => {
      let next = state.next.get(symbol)
      if (!next)
        state.next.set(symbol, (next = { next: new Map(), rest: undefined, isFound: false }))
      state = next
    }
    for (let at = 0; at < text.length; at++) {
      if (at > 0 && this.#ends(text, at)) extend(END)
      if (this.#begins(text, at)) extend(BEGIN)
      extend(text.charCodeAt(at))
    }
    if (!isBeginning) extend(END)
    state.isFound = true
  }

  /** Links the states in the order of their depths. */
  #linkRests(): void {
    const states = [this.#root]
    for (const state of states) {
      for (const [symbol, next] of state.next) {
        next.rest = state.rest ? this.#step(state.rest, symbol) : this.#root
        next.isFound ||= next.rest.isFound
        states.push(next)
      }
    }
    this.steps = 0
  }
}
