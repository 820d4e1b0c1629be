"""`FILE.dll WORD…` runs a program of .NET, `compile FILE.cs…` compiles and runs one."""

import json
import os
import sys
import tempfile
from pathlib import Path

from clr_loader import get_coreclr
from pythonnet import set_runtime

MODULES = Path(os.environ["NODE_MODULES"])
RUNTIME = MODULES / "@azure/mcp-linux-x64/dist"
ROSLYN = MODULES / "@autorest/csharp"
FRAMEWORK = "Microsoft.NETCore.App"
CONFIG = json.loads((RUNTIME / "azmcp.runtimeconfig.json").read_text())["runtimeOptions"]
VERSION = CONFIG["includedFrameworks"][0]["version"]


def lay_out(root: Path) -> Path:
    """Links the files of the runtime as the host looks for them, and returns its configuration."""
    host, shared = root / "host/fxr" / VERSION, root / "shared" / FRAMEWORK / VERSION
    for folder in (host, shared):
        folder.mkdir(parents=True)
    files = [path for path in RUNTIME.iterdir() if path.suffix in (".dll", ".so")]
    for path in files:
        (shared / path.name).symlink_to(path)
    (host / "libhostfxr.so").symlink_to(RUNTIME / "libhostfxr.so")
    kinds = {"runtime": ".dll", "native": ".so"}
    parts = {
        kind: {path.name: {} for path in files if path.suffix == suffix}
        for kind, suffix in kinds.items()
    }
    target, name = f".NETCoreApp,Version=v{VERSION[:3]}/linux-x64", f"all/{VERSION}"
    dependencies = {
        "runtimeTarget": {"name": target},
        "targets": {target: {name: parts}},
        "libraries": {name: {"type": "package", "serviceable": False, "sha512": ""}},
    }
    (shared / f"{FRAMEWORK}.deps.json").write_text(json.dumps(dependencies))
    framework = {"name": FRAMEWORK, "version": VERSION}
    options = {"tfm": CONFIG["tfm"], "framework": framework}
    options["configProperties"] = {"System.Globalization.Invariant": True}
    file = root / "runtimeconfig.json"
    file.write_text(json.dumps({"runtimeOptions": options}))
    return file


def run(assembly: str, words: list[str]) -> int:
    """Runs a program in this process, and returns its exit code."""
    from System import Array, Object, String
    from System.Reflection import Assembly

    sys.path.append(os.path.dirname(os.path.abspath(assembly)))
    main = Assembly.LoadFrom(os.path.abspath(assembly)).EntryPoint
    arguments = [Array[String](words)] if main.GetParameters().Length else []
    return main.Invoke(None, Array[Object](arguments)) or 0


def compile_program(sources: list[str], output: str) -> None:
    """Compiles a program as the SDK does: the newest language, with nullable types."""
    sys.path.append(str(ROSLYN))
    clr.AddReference("Microsoft.CodeAnalysis.CSharp")
    from Microsoft.CodeAnalysis import DiagnosticSeverity, MetadataReference, SyntaxTree
    from Microsoft.CodeAnalysis.CSharp import (
        CSharpCommandLineParser,
        CSharpCompilation,
        CSharpSyntaxTree,
    )
    from System import Array, BadImageFormatException, String
    from System.Collections.Generic import List
    from System.IO import FileMode, FileStream
    from System.Reflection import AssemblyName

    words = ["/nostdlib", "/target:exe", "/nullable:annotations", "/langversion:latest", *sources]
    parsed = CSharpCommandLineParser.Default.Parse(Array[String](words), os.getcwd(), None, None)
    trees, references = List[SyntaxTree](), List[MetadataReference]()
    for file in parsed.SourceFiles:
        text = Path(file.Path).read_text(encoding="utf-8-sig")
        trees.Add(CSharpSyntaxTree.ParseText(text, parsed.ParseOptions, file.Path))
    for path in RUNTIME.glob("*.dll"):
        try:
            AssemblyName.GetAssemblyName(str(path))
        except BadImageFormatException:
            continue  # A library of machine code.
        references.Add(MetadataReference.CreateFromFile(str(path)))
    compilation = CSharpCompilation.Create(
        "program", trees, references, parsed.CompilationOptions
    )
    stream = FileStream(output, FileMode.Create)
    result = compilation.Emit(stream)
    stream.Dispose()
    errors = [d.ToString() for d in result.Diagnostics if d.Severity == DiagnosticSeverity.Error]
    if errors:
        sys.exit("\n".join(errors[:20]))


command, *rest = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    set_runtime(get_coreclr(runtime_config=str(lay_out(Path(folder))), dotnet_root=folder))
    import clr

    if command != "compile":
        sys.exit(run(command, rest))
    program = os.path.join(folder, "program.dll")
    compile_program(rest, program)
    sys.exit(run(program, []))
