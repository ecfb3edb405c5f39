/**
 * What a statement is, by its words outside of parentheses: enough to know whether it returns rows, where
 * its values stand, and how to put another statement around it. Whether it is right, the server says.
 */
import { commentEnd } from "./parse-control.ts";

export interface Outline {
  /** SELECT, INSERT and the like: of the statement itself, behind what WITH names. */
  readonly command: string;
  /** Where that begins. */
  readonly at: number;
  readonly returnsRows: boolean;
  /** Whether another statement follows in the same text. */
  readonly isSeveral: boolean;
  /** Where `$1` and the like stand for values, in order. */
  readonly places: readonly Place[];
}

export interface Place {
  readonly at: number;
  readonly end: number;
  /** 1 is the first value. */
  readonly number: number;
}

const reading: ReadonlySet<string> = new Set(["SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN"]);
const writing: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/**
 * Reads the outline of a text.
 *
 * @example
 * ```ts
 * outline("WITH due AS (SELECT 1) DELETE FROM jobs RETURNING id").command; // "DELETE"
 * outline("UPDATE jobs SET note = 'RETURNING'").returnsRows; // false
 * ```
 */
export function outline(text: string): Outline {
  const places: Place[] = [];
  let found: Pick<Outline, "command" | "at" | "returnsRows"> = { command: "", at: 0, returnsRows: false };
  let depth = 0;
  let ended = false;
  let isSeveral = false;
  for (let lexeme = lexemeAt(text, 0); lexeme; lexeme = lexemeAt(text, lexeme.end)) {
    const { at, end, number, word } = lexeme;
    if (number > 0) places.push({ at, end, number });
    if (text[at] === ")") depth -= 1;
    if (depth === 0 && text[at] !== ";") {
      isSeveral ||= ended;
      if (found.command === "" || (found.command === "WITH" && (reading.has(word) || writing.has(word)))) {
        // What begins with a parenthesis is a query.
        found = { command: word || "SELECT", at, returnsRows: word === "" || reading.has(word) };
      } else if (word === "RETURNING" && writing.has(found.command)) {
        found = { ...found, returnsRows: true };
      }
    }
    if (text[at] === "(") depth += 1;
    ended ||= depth === 0 && text[at] === ";" && found.command !== "";
  }
  return { ...found, isSeveral, places };
}

interface Lexeme {
  readonly at: number;
  readonly end: number;
  /** The number of a place for a value; 0 for anything else. */
  readonly number: number;
  /** A word in capitals; empty for anything else. */
  readonly word: string;
}

/** Strings in their four forms, places for values, words; then any other sign. */
const lexemes =
  /[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?<tag>(?:[A-Za-z_\u{80}-\u{10FFFF}][\w\u{80}-\u{10FFFF}]*)?)\$[^]*?\$\k<tag>\$|\$(?<number>\d+)|(?<word>[A-Za-z_\u{80}-\u{10FFFF}][\w$\u{80}-\u{10FFFF}]*)|[^]/uy;

/** The next one, behind white space and comments. */
function lexemeAt(text: string, from: number): Lexeme | undefined {
  for (let at = from; at < text.length;) {
    lexemes.lastIndex = at;
    const [whole = "", , number = "0", word = ""] = lexemes.exec(text) ?? [];
    const end = Math.max(commentEnd(text, at), at + whole.length);
    if (end === at + whole.length && whole.trim() !== "") {
      return { at, end, number: Number(number), word: word.toUpperCase() };
    }
    at = end;
  }
  return undefined;
}
