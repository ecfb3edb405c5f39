import type { Store } from "counterfoil";

/** The same store, whose transactions a test sees or delays, or fails. */
export function wrappedStore(store: Store, transaction: Store["transaction"]): Store {
  return replacing(store, { transaction });
}

/** The same object, each of whose calls goes through `around`. */
export function observed<T extends object>(target: T, around: <R>(run: () => Promise<R>) => Promise<R>): T {
  return new Proxy(target, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name);
      if (typeof value !== "function") return value;
      return (...values: readonly unknown[]) => around(() => value.apply(own, values) as Promise<unknown>);
    },
  });
}

/** The same object with some members replaced; its own methods keep its private state. */
export function replacing<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get: (own, name) => {
      const value: unknown = Reflect.get(name in members ? members : own, name);
      return typeof value === "function" && !(name in members) ? value.bind(own) : value;
    },
  });
}
