package io.github.lockchaos.junit;

import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/** Makes of a method with {@link LockExam} the tests of its attacks, where they can be made. */
final class LockExamExtension implements ExecutionCondition, ParameterResolver, InvocationInterceptor, AfterEachCallback {
    private static Exam exam(ExtensionContext context) {
        return context.getStore(ExtensionContext.Namespace.create(LockExamExtension.class, context.getUniqueId()))
                .getOrComputeIfAbsent(Exam.class, k -> new Exam(context.getRequiredTestClass(), context.getRequiredTestMethod()), Exam.class);
    }

    /** Says why the attacks cannot be made here, if they cannot. */
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            return ConditionEvaluationResult.enabled("");
        }
        String lacking = exam(context).lacking();
        return lacking == null ? ConditionEvaluationResult.enabled("lockchaos can run here") : ConditionEvaluationResult.disabled(lacking);
    }

    /** The method has an {@link ExamClient} only where lockchaos calls it. */
    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == ExamClient.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return null;
    }

    /** Puts the tests in the place of what the method returns, without calling it. */
    @Override
    @SuppressWarnings("unchecked") // Jupiter takes any container of tests, whatever the method is declared to return
    public <T> T interceptTestFactoryMethod(Invocation<T> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context) {
        invocation.skip();
        List<DynamicTest> tests = exam(context).tests();
        return (T) tests;
    }

    /** All attacks have been made by now, or are not wanted any more. */
    @Override
    public void afterEach(ExtensionContext context) {
        exam(context).close();
    }
}
