import AjvCompiler from "@fastify/ajv-compiler";
import Serializers from "@fastify/fast-json-stringify-compiler";

type Validate = ReturnType<ReturnType<AjvCompiler.BuildCompilerFromPool>>;

/**
 * Fastify's schema compilers, delayed until the first request of a route: compiling all schemas takes a third of the CPU time of
 * a start, and most processes never need most schemas.
 */
export function lazyCompilers() {
  const validators = AjvCompiler();
  const serializers = Serializers();
  const buildValidator: AjvCompiler.BuildCompilerFromPool = (externalSchemas, options) => {
    const compile = validators(externalSchemas, options);
    return (route) => lazyValidate(() => compile(route));
  };
  const buildSerializer: Serializers.SerializerFactory = (externalSchemas, options) => {
    const compile = serializers(externalSchemas, options);
    return (route) => {
      let serialize: Serializers.Serializer | undefined;
      return (data) => (serialize ??= compile(route))(data);
    };
  };
  return { buildValidator, buildSerializer };
}

function lazyValidate(compile: () => Validate): Validate {
  let compiled: Validate | undefined;
  const validate = (data: unknown): unknown => {
    compiled ??= compile();
    const result = compiled(data);
    // Fastify reads the errors from the function that it called.
    Object.assign(validate, { errors: compiled.errors });
    return result;
  };
  return validate as Validate;
}
